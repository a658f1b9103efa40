import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest, which begin first: else the last of them goes on alone when all others are done. */
const LONGEST = [
  'crash/database.',
  'integration/wait-for-embedded',
  'crash/machine-trouble',
  'crash/database-outage',
  'crash/liveness',
  'crash/poison',
  'integration/delete-commands',
  'integration/run-options',
  'integration/examples',
  'crash/failpoints',
  'integration/captures',
  'crash/database-limits',
  'crash/takeover',
  'crash/kill',
  'integration/snapshot-commands',
  'integration/signals',
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
