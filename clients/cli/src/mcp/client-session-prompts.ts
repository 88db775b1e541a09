import { type GetPromptResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { otherAnswers, resultOnly } from './tool-results.js';
import { isPlainTool, promptRequestOf } from './mapping.js';
import { governed, type Offered } from './client-session.js';
import { traceMeta } from './trace-of-call.js';

export function offerPrompts(offered: Offered): void {
  const { server, servers, gate, visible } = offered;
  server.setRequestHandler('prompts/list', async () => {
    const found = await servers.list('prompts');
    const listed = found.map((one) => ({
      item: { ...one.item, name: one.shown },
      question: isPlainTool(one.name) ? promptRequestOf(one, undefined) : ('hidden' as const),
    }));
    return { prompts: await visible.among(servers, await gate.agent(), 'prompt', listed) };
  });
  server.setRequestHandler('prompts/get', async ({ params }, context) => {
    const target = servers.find(params.name);
    if (target === null)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is no prompt ${params.name}: they are called <server>__<prompt>.`,
      );
    const name = `prompts/get of ${params.name}`;
    return governed<GetPromptResult>(offered, context, {
      name,
      requestOf: () => promptRequestOf(target, params.arguments),
      run: (passing) =>
        target.of.passed(name, passing, async (client, options) => {
          const given = params.arguments === undefined ? {} : { arguments: params.arguments };
          const asked = { name: target.name, ...given, ...traceMeta() };
          const result = await client.request({ method: 'prompts/get', params: asked }, options);
          return resultOnly(result, 'description', 'messages');
        }),
      answers: otherAnswers(),
    });
  });
}
