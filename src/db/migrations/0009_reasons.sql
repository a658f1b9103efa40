-- changes: `status` says what a runner works on, and what keeps it from working

-- What a runner works on, and what keeps it from working: `status` shows both, from whichever machine it is asked.
alter table process add column scope jsonb, add column blocked_reason text;

-- A request for the lead is followed by a signal: whoever hears the request first knows whom the signal is from.
alter table process add column handoff_signal boolean not null default false;
