import { type Command, InvalidArgumentError, Option } from 'commander';
import { withPrincipalOptions } from '../principal-options.js';
import type { PinOptions } from './servers/pin.js';
import type { McpOptions } from './serve.js';
import { isServerUrl } from './servers/server-address.js';

export function addMcpCommand(program: Command): void {
  const command = withTargets(program.command('mcp [command...]'))
    .description('run in front of MCP servers and ask the policies before each call')
    .option('--listen <port>', 'serve over HTTP: a port of 127.0.0.1, or an address and a port such as 10.0.0.5:8080')
    .option('--allow-shared', 'listen on an address that others can reach, although each of them acts as this agent')
    .option('--host <name...>', 'other host names under which clients may call this proxy over HTTP')
    .option('--lock <file>', 'offer only tools that are unchanged since `gov mcp pin`')
    .addOption(
      new Option('--results <kept>', 'what to record of results').choices(['hash', 'full', 'none']).default('hash'),
    )
    .option('--agent <agent>', 'who acts, by id or name; by default the agent of your key');
  withPrincipalOptions(command)
    .option('--map <file>', 'JSON that says how tools become actions and resources')
    .option('--hold <seconds>', 'how long a call waits for its approval', secondsFrom(0), 45)
    .option('--patience <seconds>', 'how long to keep asking a service that does not answer', secondsFrom(0), 10)
    .option(
      '--timeout <seconds>',
      'how long an answer of the service may take before it counts as lost',
      secondsFrom(1),
      20,
    )
    .addHelpText(
      'after',
      '\nExample: gov mcp --name files -- npx -y @modelcontextprotocol/server-filesystem .\nWhat follows -- is the command that starts the server.',
    )
    .action(async (words: string[], options: McpOptions) => {
      // Loaded for this command only: the others start faster without the protocol.
      const { serveProxy } = await import('./serve.js');
      await serveProxy(words, options);
    });
  withTargets(command.command('pin [command...]'))
    .description("write the hashes of all tools and of the servers' instructions to a file, for --lock")
    .requiredOption('--lock <file>', 'the file to write')
    .action(async (words: string[], options: PinOptions, { parent }: Command) => {
      const { pinServers } = await import('./servers/pin.js');
      // What both commands have is read by the first.
      await pinServers(words, { ...parent?.opts<PinOptions>(), ...options });
    });
}

function withTargets(command: Command): Command {
  return command
    .option('--config <file>', 'several servers: JSON with `mcpServers`, as MCP clients have it')
    .option('--url <server>', 'the URL of a server that is reached over HTTP', serverUrl)
    .option('--header <header...>', 'sent to that server, such as "Authorization: Bearer …"')
    .option('--name <name>', 'the name of the server in resources; by default what it calls itself');
}

function serverUrl(text: string): URL {
  if (isServerUrl(text)) return new URL(text);
  throw new InvalidArgumentError('It is a URL, such as https://tools.example.com/mcp.');
}

function secondsFrom(least: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,4}$/.test(text) && Number(text) >= least) return Number(text);
    throw new InvalidArgumentError(`It is a number of seconds, ${least} to 9999.`);
  };
}
