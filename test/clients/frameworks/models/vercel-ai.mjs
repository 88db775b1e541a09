import { MockLanguageModelV3 } from 'ai/test';

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

/**
 * The SDK's own mock model: it calls a tool once, and then says that it is done. `seen` collects the results of the
 * tools.
 */
export function callOnce(toolName, input, seen = []) {
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const answers = prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []));
      seen.push(...answers.filter(({ type }) => type === 'tool-result').map(({ output }) => JSON.stringify(output)));
      const call = { type: 'tool-call', toolCallId: `call-${toolName}`, toolName, input: JSON.stringify(input) };
      const isDone = answers.length > 0;
      const content = isDone ? [{ type: 'text', text: 'done' }] : [call];
      return { content, finishReason: { unified: isDone ? 'stop' : 'tool-calls' }, usage, warnings: [] };
    },
  });
}
