import type { Command } from 'commander';
import type { DraftOptions } from '../policies/draft-files.js';
import { timeSpan } from '../time-span.js';

/** The command that drafts policies from what an agent did while it was observed. */
export function addDraftCommand(program: Command): void {
  program
    .command('draft')
    .description('write policy files that allow what an agent did while it was observed, and nothing else')
    .requiredOption('--agent <agent>', 'by id or name')
    .option('--since <duration>', 'how far back to look, such as P7D', timeSpan, timeSpan('P7D'))
    .option('--out <folder>', 'where to write the files', 'policies')
    // Loaded at first use, as for other policy files.
    .action(async (options: DraftOptions) => (await import('../policies/draft-files.js')).draft(options));
}
