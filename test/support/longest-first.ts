import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest, which begin first: else the last of them goes on alone when all others are done. */
const LONGEST = [
  'crash/database-outage',
  'crash/failpoints',
  'crash/machine-trouble',
  'crash/disk-full',
  'integration/delete-commands',
  'crash/database-limits',
  'integration/migration',
  'crash/takeover',
  'crash/gate.',
  'crash/containment',
  'integration/run-options',
  'crash/database.',
  'crash/kill',
  'crash/database-commit',
  'integration/crawl-commands',
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
