import * as mocks from 'ai/test';

// What providers of AI SDK 7 are, and those of AI SDK 6.
const MockModel = mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV3;

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

/**
 * The SDK's own mock model: it calls a tool once, and then says that it is done. `seen` collects the results of the
 * tools. `begins` is true for a message with which a turn begins; without it there is one turn.
 */
export function callOnce(toolName, input, seen = [], begins = () => false) {
  return new MockModel({
    doGenerate: async ({ prompt }) => {
      const answers = prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []));
      seen.push(...answers.filter(({ type }) => type === 'tool-result').map(({ output }) => JSON.stringify(output)));
      const call = { type: 'tool-call', toolCallId: `call-${toolName}`, toolName, input: JSON.stringify(input) };
      const turn = prompt.slice(prompt.findLastIndex(begins) + 1);
      const isDone = turn.some(({ role, content }) => role === 'tool' && content.length > 0);
      const content = isDone ? [{ type: 'text', text: 'done' }] : [call];
      return { content, finishReason: { unified: isDone ? 'stop' : 'tool-calls' }, usage, warnings: [] };
    },
  });
}
