import { type GetPromptResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { otherAnswers, resultOnly } from './tool-results.js';
import { isPlainTool, promptRequestOf } from './mapping.js';
import { carryOutGoverned, type SessionParts } from './client-session.js';
import { traceMeta } from './trace-of-call.js';

export function offerPrompts(parts: SessionParts): void {
  const { server, servers, gate, visible } = parts;
  server.setRequestHandler('prompts/list', async () => {
    const prompts = await servers.list('prompts');
    const listed = prompts.map((prompt) => ({
      item: { ...prompt.item, name: prompt.visibleName },
      question: isPlainTool(prompt.name) ? promptRequestOf(prompt, undefined) : ('hidden' as const),
    }));
    return { prompts: await visible.select(servers, await gate.agent(), 'prompt', listed) };
  });
  server.setRequestHandler('prompts/get', async ({ params }, context) => {
    const target = servers.find(params.name);
    if (target === null)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is no prompt ${params.name}: they are called <server>__<prompt>.`,
      );
    const name = `prompts/get of ${params.name}`;
    return carryOutGoverned<GetPromptResult>(parts, context, {
      name,
      requestOf: () => promptRequestOf(target, params.arguments),
      run: (callOptions) =>
        target.owner.passOn(name, callOptions, async (client, options) => {
          const input = params.arguments === undefined ? {} : { arguments: params.arguments };
          const promptParams = { name: target.name, ...input, ...traceMeta() };
          const result = await client.request({ method: 'prompts/get', params: promptParams }, options);
          return resultOnly(result, 'description', 'messages');
        }),
      answers: otherAnswers(),
    });
  });
}
