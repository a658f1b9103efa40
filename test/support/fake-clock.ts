import type { TestHome } from './homes.ts'

/**
 * Sets the clock of a home's database to `at`, for every connection that is opened from now on: `now()` becomes our
 * function, which the search path finds first. Everything that uses the database's clock, including the program, lives
 * in that time.
 */
export async function setClock(home: TestHome, at: string): Promise<void> {
  await home.query(`
    do $$ begin
      create schema if not exists fake;
      create table if not exists fake.clock (at timestamptz not null);
      create or replace function fake.now() returns timestamptz language sql stable as 'select at from fake.clock';
      execute format('alter database %I set search_path = fake, pg_catalog, public', current_database());
    end $$`)
  await home.query('delete from fake.clock')
  await home.query('insert into fake.clock values ($1)', [at])
}

/** Changes a clock that was set before. */
export async function turnClock(home: TestHome, at: string): Promise<void> {
  await home.query('update fake.clock set at = $1', [at])
}
