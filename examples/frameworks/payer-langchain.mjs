// The model is yours: ./model.mjs exports it.
import { GovernanceClient } from 'agent-governance-client';
import { governanceMiddleware } from 'agent-governance-frameworks/langchain';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { model } from './model.mjs';

const governance = new GovernanceClient({ url: process.env.GOVERNANCE_URL, key: process.env.GOVERNANCE_API_KEY });
const send = ({ amount }) => console.log(amount);
const pay = tool(send, { name: 'send-payment', description: 'Pay', schema: z.object({ amount: z.number() }) });
const middleware = [governanceMiddleware(governance, { wait: 300 })];

await createAgent({ model, tools: [pay], middleware }).invoke({ messages: [{ role: 'user', content: 'Pay 1200.' }] });
