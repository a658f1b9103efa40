import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest, which begin first: else the last of them goes on alone when all others are done. */
const LONGEST = [
  'crash/liveness',
  'crash/machine-trouble',
  'crash/failpoints',
  'crash/poison',
  'integration/snapshot-commands',
  'integration/examples',
  'integration/hostile-copies',
  'integration/captures',
  'crash/database.',
  'integration/view-plans',
  'integration/wait-for-embedded',
  'crash/hooks-in-a-row',
  'crash/containment',
  'integration/delete-commands',
  'crash/takeover',
  'integration/output-files',
  'crash/database-limits',
  'crash/long-list',
  'integration/migration',
  'integration/binaries',
  'crash/database-outage',
  'crash/silent-database',
  'crash/hostile-hooks',
  'integration/stuck-processes',
  'crash/standstill',
  'crash/browser',
  'integration/run-options',
  'crash/database-commit',
  'integration/tabs',
  'integration/readme',
  'integration/index-files',
  'crash/kill',
]

/** Vitest's own order knows how long a file took only where it ran before. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification) => {
      const at = LONGEST.findIndex((name) => moduleId.includes(`/test/${name}`))
      return project.config.sequence.groupOrder * 1_000 + (at < 0 ? LONGEST.length : at)
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}
