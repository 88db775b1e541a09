import { type Command, InvalidArgumentError } from 'commander';
import { withPrincipalOptions } from '../principal-options.js';
import type { McpOptions } from './serve.js';

export function addMcpCommand(program: Command): void {
  const command = program
    .command('mcp [command...]')
    .description('stand in front of an MCP server: each call of a tool asks the policies first')
    .option('--url <server>', 'the server, where it is reached over HTTP', serverUrl)
    .option('--header <header...>', 'sent to that server, such as "Authorization: Bearer …"')
    .option('--listen <port>', 'serve over HTTP: a port of 127.0.0.1, or an address and a port such as 10.0.0.5:8080')
    .option('--host <name...>', 'other host names under which clients may call this proxy over HTTP')
    .option('--name <name>', 'what the server is called in resources; what it calls itself unless given')
    .option('--agent <agent>', 'who acts, by id or name; the agent of your key unless given');
  withPrincipalOptions(command)
    .option('--map <file>', 'JSON that says how tools become actions and resources')
    .option('--hold <seconds>', 'how long a call waits for its approval', secondsFrom(0), 45)
    .option('--patience <seconds>', 'how long to ask a service again that does not answer', secondsFrom(0), 10)
    .option(
      '--timeout <seconds>',
      'how long one answer of the service may take before it counts as lost',
      secondsFrom(1),
      20,
    )
    .addHelpText(
      'after',
      '\nExample: gov mcp -- npx -y @modelcontextprotocol/server-filesystem .\nWhat follows -- is the command that starts the server.',
    )
    .action(async (words: string[], options: McpOptions) => {
      // Loaded for this command only: the others start faster without the protocol.
      const { serveProxy } = await import('./serve.js');
      await serveProxy(words, options);
    });
}

function serverUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && ['http:', 'https:'].includes(url.protocol)) return url;
  throw new InvalidArgumentError('It is a URL, such as https://tools.example.com/mcp.');
}

function secondsFrom(least: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,4}$/.test(text) && Number(text) >= least) return Number(text);
    throw new InvalidArgumentError(`It is a number of seconds, ${least} to 9999.`);
  };
}
