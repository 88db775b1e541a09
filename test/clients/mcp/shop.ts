import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionResponse } from '../../../src/governance/executions/dto/execution.dto';
import { company, EXECUTIONS, type Company } from '../../approvals/support';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { until } from '../../faults/support/watch';
import { send } from '../../support/application/send';
import { buildCommandLine } from '../command-line';
import { type Era, REPORT_KEY, type Way } from './mcp-clients';

const SAMPLE: [Way, Era][] = [
  ['stdio', 'legacy'],
  ['http', 'modern'],
];
const REST: [Way, Era][] = [
  ['stdio', 'modern'],
  ['http', 'legacy'],
];
/** MCP_IN_FULL=true tries every transport in both eras of the protocol. */
export const WAYS = process.env['MCP_IN_FULL'] === 'true' ? [...SAMPLE, ...REST] : SAMPLE;

const ALLOWED = ['echo', 'fail', 'slow', 'spoof', 'large'];
const CAPABILITIES = [...ALLOWED, 'file.read', 'limited', 'refund', 'brief', 'wipe', 'open'];

/** A service with policies for the tools of the server under test, and people who approve. */
export interface Shop {
  readonly app: TestApp;
  readonly people: Company;
  readonly folder: string;
  /** Registers an agent with a key of its own, for one connection. */
  customer(name: string): Promise<Customer>;
  close(): Promise<void>;
}

export interface Customer {
  readonly environment: NodeJS.ProcessEnv;
  /** The file in which the server records what it ran. */
  readonly runs: string;
  /** Returns the agent's requests for an action. */
  executions(action: string): Promise<ExecutionResponse[]>;
  /**
   * Returns the agent's requests for an action once none is `authorized` any more: the gateway reports after it has
   * answered.
   */
  settled(action: string): Promise<ExecutionResponse[]>;
  /** Waits until a request for an action has this outcome, and returns it. @throws Error after 30 seconds */
  executionThatIs(action: string, outcome: string): Promise<ExecutionResponse>;
  /** Returns the arguments of each run of a tool. */
  ran(tool: string): unknown[];
}

export async function openShop(environment: NodeJS.ProcessEnv = {}): Promise<Shop> {
  await buildCommandLine();
  const app = await createTestApp({ environment: { RATE_LIMIT: '1000000', ...environment } });
  const people = await company(app);
  const folder = mkdtempSync(join(tmpdir(), 'gov-mcp-'));
  await createPolicies(app);
  return {
    ...{ app, people, folder },
    customer: (name) => customerOf(app, name, join(folder, name)),
    close: async () => {
      rmSync(folder, { recursive: true });
      await app.close();
    },
  };
}

async function createPolicies(app: TestApp): Promise<void> {
  const shop = { resources: ['tool/shop/*'], resourceTypes: ['tool'] };
  await createPolicy(app, { ...shop, actions: ALLOWED });
  const conditions = [{ parameter: '/amount', op: 'lt', value: 5 }];
  await createPolicy(app, { ...shop, actions: ['limited'], conditions });
  const approval = { approvers: [{ subjects: ['role:finance'] }] };
  await createPolicy(app, { ...shop, effect: 'require_approval', actions: ['refund'], approval });
  const short = { ...approval, decideWithin: 'PT1S' };
  await createPolicy(app, { ...shop, effect: 'require_approval', actions: ['brief'], approval: short });
}

async function customerOf(app: TestApp, name: string, runs: string): Promise<Customer> {
  const { id } = await createAgent(app, { name, capabilities: CAPABILITIES });
  const { secret } = await issueKey(app, { name, scopes: ['execute'], agentId: id });
  const executions = async (action: string): Promise<ExecutionResponse[]> =>
    (await send(app, 'GET', `${EXECUTIONS}?agentId=${id}&action=${action}&limit=1000`)).body.data;
  const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret, [REPORT_KEY]: await reportKeyOf(app) };
  return {
    ...{ environment, runs, executions },
    settled: async (action) => {
      const isSettled = async (): Promise<boolean> =>
        (await executions(action)).every(({ outcome }) => outcome !== 'authorized');
      await until(`each ${action} is reported`, isSettled);
      return executions(action);
    },
    executionThatIs: async (action, outcome) => {
      for (let attempt = 0; attempt < 1_500; attempt += 1) {
        const execution = (await executions(action)).find((one) => one.outcome === outcome);
        if (execution !== undefined) return execution;
        await sleep(20);
      }
      throw new Error(`There is no ${action} that is ${outcome}: ${JSON.stringify(await executions(action))}`);
    },
    ran: (tool) => {
      if (!existsSync(runs)) return [];
      const lines = readFileSync(runs, 'utf8').split('\n').filter(Boolean);
      return lines.map((line) => JSON.parse(line)).flatMap(([name, input]) => (name === tool ? [input] : []));
    },
  };
}

/** Issues a key for a gateway, and returns its secret. */
export async function reportKeyOf(app: TestApp): Promise<string> {
  return (await issueKey(app, { name: 'gateway', scopes: ['report'] })).secret;
}
