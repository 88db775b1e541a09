// The model is yours: ./model.mjs exports it.
import { Agent, run, tool } from '@openai/agents';
import { GovernanceClient } from 'agent-governance-client';
import { governed } from 'agent-governance-frameworks/openai-agents';
import { z } from 'zod';
import { model } from './model.mjs';

const governance = new GovernanceClient({ url: process.env.GOVERNANCE_URL, key: process.env.GOVERNANCE_API_KEY });
const execute = ({ amount }) => console.log(amount);
const pay = { name: 'send_payment', description: 'Pay', parameters: z.object({ amount: z.number() }), execute };
const requestOf = () => ({ action: 'send-payment', resourceType: 'payment', resourceId: 'payments/2026/0042' });
const tools = [tool(governed(governance, pay, { wait: 300, requestOf }))];

await run(new Agent({ name: 'payer', model, tools }), 'Pay 1200.');
