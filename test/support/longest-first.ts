import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest, which begin first: else the last of them goes on alone when all others are done. */
const LONGEST = [
  'crash/machine-trouble',
  'crash/database-outage',
  'crash/liveness',
  'crash/failpoints',
  'integration/wait-for-embedded',
  'crash/poison',
  'crash/database-limits',
  'crash/database.',
  'crash/takeover',
  'integration/captures',
  'integration/snapshot-commands',
  'integration/delete-commands',
  'crash/containment',
  'integration/examples',
  'crash/kill',
  'integration/run-options',
  'integration/signals',
  'crash/hooks-in-a-row',
  'integration/migration',
  'crash/database-commit',
  'integration/plans',
  'integration/lease-renewal',
  'integration/notifications',
  'integration/index-files',
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
