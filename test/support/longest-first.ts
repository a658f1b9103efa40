import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The slowest files, which start first: otherwise the last of them would run alone at the end. */
const LONGEST = [
  'integration/server/hostile-captures',
  'integration/server/replay',
  'crash/processes/liveness',
  'crash/workers/machine-trouble',
  'crash/house/failpoints',
  'crash/workers/poison',
  'integration/cli/snapshot-commands',
  'integration/house/examples',
  'integration/pages/hostile-copies',
  'integration/plugins/captures',
  'crash/db/database.',
  'integration/house/view-plans',
  'integration/cli/wait-for-embedded',
  'crash/hooks/hooks-in-a-row',
  'crash/processes/containment',
  'integration/cli/delete-commands',
  'crash/runner/takeover',
  'integration/workers/output-files',
  'crash/db/database-limits',
  'crash/workers/long-list',
  'integration/db/migration',
  'integration/hooks/binaries',
  'crash/db/database-outage',
  'crash/db/silent-database',
  'crash/hooks/hostile-hooks',
  'integration/processes/stuck-processes',
  'crash/workers/standstill',
  'crash/server/kill',
  'crash/plugins/browser',
  'integration/cli/run-options',
  'crash/db/database-commit',
  'integration/browse/tabs',
  'integration/house/docs',
  'integration/pages/index-files',
  'crash/runner/kill',
]

/** Vitest's own order only knows durations on machines where it ran before. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification) => {
      const at = LONGEST.findIndex((name) => moduleId.includes(`/test/${name}`))
      return project.config.sequence.groupOrder * 1_000 + (at < 0 ? LONGEST.length : at)
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}
