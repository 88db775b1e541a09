import { type Command, InvalidArgumentError, Option } from 'commander';
import { withDigestOption } from '../large-values.js';
import { withPrincipalOptions } from '../principal-options.js';
import { subjectFault } from '../service-rules/subjects.js';
import type { PinOptions } from './servers/pin.js';
import type { McpOptions } from './serve.js';
import { isServerUrl } from './servers/server-address.js';

/** In seconds. */
const DAY = 86_400;

export function addMcpCommand(program: Command): void {
  const command = withTargets(program.command('mcp [command...]'))
    .description('run in front of MCP servers and ask the policies before each call')
    .option('--lock <file>', 'offer only tools that are unchanged since `gov mcp pin`')
    .option(
      '--ask [subject...]',
      'offer a tool by which the agent asks people; by default any person may answer',
      askSubjects,
    )
    .addOption(
      new Option('--results <kept>', 'what to record of results').choices(['hash', 'full', 'none']).default('hash'),
    )
    .option('--agent <agent>', 'who acts, by id or name; by default the agent of your key');
  withPrincipalOptions(withDigestOption(command))
    .option('--map <file>', 'JSON that says how tools become actions and resources')
    .option('--hold <seconds>', 'how long a call waits for its approval', secondsFrom(0), 45)
    .option('--patience <seconds>', 'how long to retry while the service does not answer', secondsFrom(0), 10)
    .option(
      '--timeout <seconds>',
      'how long an answer of the service may take before it counts as lost',
      secondsFrom(1),
      20,
    )
    .option(
      '--call-timeout <seconds>',
      'how long a server may take for a call, whatever progress it reports',
      secondsFrom(1, DAY),
      3_600,
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
      // Options that both commands have are read by the first.
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
  throw new InvalidArgumentError('Expected a URL, such as https://tools.example.com/mcp.');
}

/** Subjects after `--ask`, each separately. @throws InvalidArgumentError for one that can match nobody */
function askSubjects(subject: string, before: readonly string[] | true = []): readonly string[] {
  const fault = subjectFault(subject);
  if (fault !== undefined) throw new InvalidArgumentError(`The subject "${subject}" ${fault}.`);
  return [...(before === true ? [] : before), subject];
}

function secondsFrom(least: number, most = 9_999): (text: string) => number {
  return (text) => {
    if (/^\d{1,5}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`Expected a number of seconds from ${least} to ${most}.`);
  };
}
