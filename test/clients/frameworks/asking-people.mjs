import { RunContext, tool } from '@openai/agents';
import { requestApproval as forLangchain } from 'agent-governance-frameworks/langchain';
import { requestApproval as forOpenai } from 'agent-governance-frameworks/openai-agents';
import { requestApproval as forVercel } from 'agent-governance-frameworks/vercel-ai';
import { governance } from './shop.mjs';

const question = (title) => ({ title, question: 'The customer has asked twice.', context: { n: 1 } });
const subjects = ['role:finance'];
const texts = [
  await forVercel(governance, subjects).execute(question('vercel'), { toolCallId: 'a', messages: [] }),
  await tool(forOpenai(governance, subjects)).invoke(new RunContext(), JSON.stringify(question('openai'))),
  await forLangchain(governance, subjects).invoke(question('langchain')),
  await forVercel(governance, subjects).execute({ title: 7, question: 'x' }, { toolCallId: 'b', messages: [] }),
];
process.stdout.write(JSON.stringify(texts));
