import type { Command } from 'commander';
import { type DigestOptions, withDigestOption } from '../large-values.js';
import type { AskOptions } from './commands/ask.js';

export function addGatewayCommand(program: Command): void {
  const command = withDigestOption(program.command('gateway'))
    .description('run in front of HTTP APIs and MCP servers, and send them only what was authorised')
    .argument('<file>', 'such as gateway.yaml')
    .addHelpText(
      'after',
      '\nThe key of the gateway, with the scope `report`, comes from GOVERNANCE_API_KEY.\nExit codes: 75 another gateway holds the journal, 78 the file has faults.',
    )
    .action(async (file: string, options: DigestOptions) => {
      // Loaded for this command only: the others start faster without it.
      const { serveGateway } = await import('./run/serve.js');
      await serveGateway(file, options);
    });
  command
    .command('check <file>')
    .description(
      'print every fault of a file with line and column, or its routes and warnings. Exit code 78 if it has faults',
    )
    .action(async (file: string) => {
      const { checkFile } = await import('./commands/check.js');
      await checkFile(file);
    });
  command
    .command('ask <file> <method> <path>')
    .description('print the action of such a request, and how the policies answer; sends nothing to the upstream')
    .option('--data <body>', 'the body: text, or @ and the name of a file')
    .option(
      '--header <header...>',
      'headers of the request, such as "Content-Type: text/plain"; by default, the body is JSON',
    )
    .option('--query <query>', 'the query without "?", percent-encoded')
    .addHelpText(
      'after',
      '\nExample: gov gateway ask gateway.yaml POST /payments/v1/refunds --data @body.json\nThe policies are asked with the key of the agent in GOVERNANCE_CALLER_KEY; without it they are not asked.\nExit codes: 1 refused or denied, 78 the file has faults.',
    )
    .action(async (file: string, method: string, path: string, options: AskOptions) => {
      const { askFile } = await import('./commands/ask.js');
      await askFile(file, { method, path, ...options });
    });
}
