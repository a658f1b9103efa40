import type { Command } from 'commander'
import type { Asked } from '../settings.ts'
import { verb } from '../verb.ts'

/** `doctor`: what is missing on this machine. */
export function registerDoctor(root: Command, asked: () => Promise<Asked>): void {
  verb(root, 'doctor', 'what is missing or wrong on this machine, with the command that fixes it', [
    'archivebox-ts doctor',
    'archivebox-ts doctor --fix',
  ])
    .option('--fix', 'fix what needs no special rights')
    .action(async (options: object) => (await import('../commands/doctor.ts')).doctor(await asked(), options))
}
