import { ToolMessage } from '@langchain/core/messages';
import { Command, interrupt, MemorySaver, ParentCommand } from '@langchain/langgraph';
import { governanceMiddleware } from 'agent-governance-frameworks/langchain';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { callOnce } from './models/langchain.mjs';
import { approveAll, governance, outcomes, print, reportedByAnother, runs } from './shop.mjs';

const schema = z.object({ amount: z.number() });
const answers = [];
/** Asks its own user in the middle of its work. */
function askUser({ amount }) {
  answers.push(interrupt('Are you sure?'));
  runs.push(amount);
  return 'done';
}
/** Ends by leading on to another graph. */
function parting() {
  throw new ParentCommand(new Command({ goto: 'elsewhere' }));
}
/** Its answer is a change of the graph's state. */
async function updating(input, { toolCall: { id } }) {
  await reportedByAnother(input);
  return new Command({ update: { messages: [new ToolMessage({ content: 'noted', tool_call_id: id })] } });
}
const checkpointer = new MemorySaver();
/** A conversation in which the tool is called once. */
function conversation(name, run, thread_id = `${name} ${run.name}`) {
  const model = callOnce(name, { amount: 5 });
  const tools = [tool(run, { name, description: name, schema })];
  const made = () =>
    createAgent({ model, tools, checkpointer, middleware: [governanceMiddleware(governance, { interrupt: true })] });
  let agent = made();
  const thread = { configurable: { thread_id } };
  const seen = ({ __interrupt__: interrupts = [], messages }) => interrupts[0]?.value ?? messages.at(-2).text;
  return {
    begin: async () => seen(await agent.invoke({ messages: [{ role: 'user', content: 'Do it.' }] }, thread)),
    moveElsewhere: () => (agent = made()),
    resume: async (answer) => seen(await agent.invoke(new Command({ resume: answer }), thread)),
  };
}

const allowed = conversation('note', askUser);
const replies = [await allowed.begin()];
const meanwhile = await outcomes();
replies.push(await allowed.resume('yes'));

const refund = conversation('refund', askUser);
replies.push(await refund.begin(), await refund.resume('too early'));
await approveAll();
replies.push(await refund.resume('approved'), await refund.resume('surely'));

const moved = conversation('refund', askUser, 'moved');
const elsewhere = [await moved.begin()];
await approveAll();
moved.moveElsewhere();
elsewhere.push(await moved.resume('approved'), await moved.resume('really'));

const closed = conversation('note', askUser, 'closed');
await closed.begin();
const { data: recorded } = await governance.get('/api/v1/executions');
await governance.report(recorded.at(-1), { error: 'An operator closed it.' });
const over = await closed.resume('too late');

await conversation('note', parting).begin();
const noted = await conversation('note', updating).begin();
await print({ asked: replies, elsewhere, over, meanwhile, answers, runs, noted });
