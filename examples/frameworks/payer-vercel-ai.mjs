// The model is yours: ./model.mjs exports it.
import { GovernanceClient } from 'agent-governance-client';
import { governedTools } from 'agent-governance-frameworks/vercel-ai';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';
import { model } from './model.mjs';

const governance = new GovernanceClient({ url: process.env.GOVERNANCE_URL, key: process.env.GOVERNANCE_API_KEY });
const execute = ({ amount }) => console.log(amount);
const pay = tool({ description: 'Pay', inputSchema: z.object({ amount: z.number() }), execute });
const tools = governedTools(governance, { 'send-payment': pay }, { wait: 300 });

await generateText({ model, tools, prompt: 'Pay 1200.', stopWhen: stepCountIs(5) });
