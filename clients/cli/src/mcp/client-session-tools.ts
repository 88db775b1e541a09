import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { counted, plain, printError } from '../output.js';
import { ReportedFailure, toolAnswers } from './tool-results.js';
import { isNameable, type Mapping, requestOf, takesResourceFromArgument, UnclearCallError } from './mapping.js';
import { ASK_TOOL, callAskTool, listedAskTool } from './ask-tool.js';
import { carryOutGoverned, type SessionParts } from './client-session.js';
import type { Pins } from './servers/pins.js';
import type { ListedItem, Servers } from './servers/servers.js';
import type { ListCandidate } from './visible.js';

export function offerTools(parts: SessionParts): void {
  const { server, servers, gate, mapping, toolWarnings, pins, visible } = parts;
  server.setRequestHandler('tools/list', async () => {
    const all = await servers.list('tools');
    toolWarnings.report(servers, all);
    const tools = await pinnedOf(all, pins);
    const listed = tools.map((tool) => ({ item: tool, question: questionOf(mapping, tool) }));
    const own = await listedAskTool(parts);
    const visibleTools = (await visible.select(servers, await gate.agent(), 'tool', listed)).map(withVisibleName);
    return { tools: [...own, ...visibleTools.filter(({ name }) => parts.ask === null || name !== ASK_TOOL)] };
  });
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const { name, arguments: input } = params;
    if (parts.ask !== null && name === ASK_TOOL) return callAskTool(parts, input, context);
    const target = servers.find(name);
    if (target === null) return toolAnswers.refused(`${name} was not run. Tool names have the form <server>__<tool>.`);
    const result = await carryOutGoverned<CallToolResult>(parts, context, {
      name,
      requestOf: async () => {
        if (pins !== null) await requirePinned(target, pins);
        return requestOf(mapping, target, input);
      },
      run: async (callOptions) => {
        const answer = await target.owner.callTool(target, input, callOptions);
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

function questionOf(mapping: Mapping, tool: ListedItem<Tool>): ListCandidate<unknown>['question'] {
  if (!isNameable(mapping, tool)) return 'hidden';
  return takesResourceFromArgument(mapping, tool) ? 'shown' : requestOf(mapping, tool, undefined);
}

/** Returns the tools that match their pins, and prints which others are held back. */
async function pinnedOf(tools: ListedItem<Tool>[], pins: Pins | null): Promise<ListedItem<Tool>[]> {
  if (pins === null) return tools;
  const faults = await Promise.all(tools.map(({ server, item }) => pins.fault(server, item)));
  const [fault] = faults.filter((candidate) => candidate !== null);
  if (fault !== undefined) {
    const count = faults.filter((candidate) => candidate !== null).length;
    printError(plain(`${counted(count, 'tool')} held back, as ${fault}.`));
  }
  return tools.filter((_, index) => faults[index] === null);
}

/**
 * Compares the pin with the tool's present definition, which may have changed since the client read it, or while the
 * call waited.
 * @throws UnclearCallError
 */
async function requirePinned(target: NonNullable<ReturnType<Servers['find']>>, pins: Pins): Promise<void> {
  const tools = (await target.owner.list('tools')).filter(({ name }) => name === target.name);
  const faults = await Promise.all(tools.map((tool) => pins.fault(target.server, tool)));
  const absence = tools.length === 0 ? `${target.server} does not list it any more` : null;
  const fault = faults.find((candidate) => candidate !== null) ?? absence;
  if (fault !== null) throw new UnclearCallError(`${fault}. Somebody has to look at it and pin it.`);
}

/**
 * Returns the tool without support for tasks, which the proxy does not offer, and without its output schema: a client
 * would discard a result that does not fit it, for example one of a handler of the service, and call the tool again.
 */
function withVisibleName({ visibleName, item }: ListedItem<Tool>): Tool {
  const { execution: _, outputSchema: __, ...tool } = item;
  return { ...tool, name: visibleName };
}
