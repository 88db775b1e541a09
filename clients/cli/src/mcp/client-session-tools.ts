import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { counted, plain, printError } from '../output.js';
import { ReportedFailure, toolAnswers } from './tool-results.js';
import { isNameable, type Mapping, requestOf, takesResourceFromArgument, UnclearCallError } from './mapping.js';
import { governed, type Offered } from './client-session.js';
import type { Pins } from './servers/pins.js';
import type { ListedItem, Servers } from './servers/servers.js';
import type { Listing } from './visible.js';

export function offerTools(offered: Offered): void {
  const { server, servers, gate, mapping, toolWarnings, pins, visible } = offered;
  server.setRequestHandler('tools/list', async () => {
    const all = await servers.list('tools');
    toolWarnings.report(servers, all);
    const tools = await pinnedOf(all, pins);
    const listed = tools.map((tool) => ({ item: tool, question: questionOf(mapping, tool) }));
    return { tools: (await visible.among(servers, await gate.agent(), 'tool', listed)).map(asShown) };
  });
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const { name, arguments: given } = params;
    const target = servers.find(name);
    if (target === null) return toolAnswers.refused(`${name} was not run. Tool names have the form <server>__<tool>.`);
    const result = await governed<CallToolResult>(offered, context, {
      name,
      requestOf: async () => {
        if (pins !== null) await requirePinned(target, pins);
        return requestOf(mapping, target, given);
      },
      run: async (passing) => {
        const answer = await target.of.callTool(target, given, passing);
        if (answer.isError === true) throw new ReportedFailure(answer);
        return answer;
      },
      answers: toolAnswers,
    });
    if ('inputRequests' in result) return result;
    // No tool is shown with an output schema.
    return server.projectCallToolResult(result as CallToolResult, undefined);
  });
}

function questionOf(mapping: Mapping, tool: ListedItem<Tool>): Listing<unknown>['question'] {
  if (!isNameable(mapping, tool)) return 'hidden';
  return takesResourceFromArgument(mapping, tool) ? 'shown' : requestOf(mapping, tool, undefined);
}

/** Those that are as they were pinned. The others are said, to those who wonder where they are. */
async function pinnedOf(tools: ListedItem<Tool>[], pins: Pins | null): Promise<ListedItem<Tool>[]> {
  if (pins === null) return tools;
  const faults = await Promise.all(tools.map(({ server, item }) => pins.fault(server, item)));
  const [fault] = faults.filter((one) => one !== null);
  if (fault !== undefined) {
    const count = faults.filter((one) => one !== null).length;
    printError(plain(`${counted(count, 'tool')} held back, as ${fault}.`));
  }
  return tools.filter((_, index) => faults[index] === null);
}

/**
 * By the definition that the server gives now: it may have changed since the client has seen it, or while the call waited.
 * @throws UnclearCallError
 */
async function requirePinned(target: NonNullable<ReturnType<Servers['find']>>, pins: Pins): Promise<void> {
  const tools = (await target.of.list('tools')).filter(({ name }) => name === target.name);
  const faults = await Promise.all(tools.map((tool) => pins.fault(target.server, tool)));
  const gone = tools.length === 0 ? `${target.server} does not list it any more` : null;
  const fault = faults.find((one) => one !== null) ?? gone;
  if (fault !== null) throw new UnclearCallError(`${fault}. Somebody has to look at it and pin it.`);
}

/** Tasks are another way to call a tool, which is not offered. A client would discard what does not fit an output schema, such as what a handler of the service returned, and call the tool again. */
function asShown({ shown, item }: ListedItem<Tool>): Tool {
  const { execution: _, outputSchema: __, ...tool } = item;
  return { ...tool, name: shown };
}
