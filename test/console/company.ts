import { API_KEY } from '../support/application/api-key';
import { createApp } from '../../src/create-app';
import { createTestApp } from '../support/application/create-test-app';
import { keepSecrets, watchLog } from '../support/application/secret-watch';
import { migratedDatabase } from '../support/database/temporary-database';
import { addClaim, createAgent, createEntity, createPolicy, issueKey } from '../support/application/factories';
import { join } from 'node:path';
import { ROOT } from '../support/documents/markdown';
import { send } from '../support/application/send';
import { TestBrowser } from './browser';

/** The built service. */
export const MAIN = join(ROOT, 'dist', 'main.js');

type Members = Readonly<Record<string, unknown>>;

/** A service that the console is opened of. */
export interface CompanyService {
  readonly url: string;
  readonly key: string;
  stop(): Promise<unknown>;
}

/** A service with a bot whose payments need the approval of two groups, and with a key for each person. */
export interface DemoCompany {
  readonly program: CompanyService;
  readonly bot: { readonly id: string; readonly key: string };
  readonly finn: { readonly id: string; readonly key: string };
  readonly sara: { readonly id: string; readonly key: string };
  readonly auditor: { readonly key: string };
  readonly supplier: { readonly id: string };
}

export const PAYMENT = {
  action: 'pay-invoice',
  resourceType: 'supplier',
  resourceId: 'Nordwind GmbH',
  parameters: { invoice: '2026-0417', amount: 18_400, currency: 'EUR', iban: 'DE02 1203 0000 0000 2020 51' },
};

/** The application in the process of the tests: a program takes longer to start than most of them. */
async function startApplication(environment: Environment): Promise<CompanyService> {
  const app = await createTestApp({ environment: { LOG_LEVEL: 'warn', ...environment } });
  return { url: app.url, key: API_KEY, stop: () => app.close() };
}

/** The same at a port that others know already, such as an issuer. */
export async function startApplicationAt(port: number, environment: Environment): Promise<CompanyService> {
  const database = await migratedDatabase();
  const all = { NODE_ENV: 'test', API_KEY, LOG_LEVEL: 'warn', ...database.environment, ...environment };
  keepSecrets(all);
  const application = await createApp({ environment: all, logStream: { write: watchLog } });
  await application.listen(port, '127.0.0.1');
  const stop = async (): Promise<void> => {
    await application.close();
    await database.remove();
  };
  return { url: `http://127.0.0.1:${port}`, key: API_KEY, stop };
}

async function foundCompany(program: CompanyService): Promise<DemoCompany> {
  const supplier = await createEntity(program, {
    type: 'supplier',
    name: 'Nordwind GmbH',
    properties: { country: 'DE', since: 2019 },
  });
  const claims = [
    ['iban', 'DE02 1203 0000 0000 2020 51', 0.55, 'mail of 3 March'],
    ['iban', 'DE89 3704 0044 0532 0130 00', 0.97, 'contract 2019'],
    ['payment_terms', '30 days', 0.9, 'contract 2019'],
  ] as const;
  for (const [predicate, value, confidence, source] of claims) {
    await addClaim(program, supplier.id, { predicate, value, context: { confidence, source } });
  }
  const agent = async (body: Members, scopes: readonly string[]): Promise<{ id: string; key: string }> => {
    const { id, name } = await createAgent(program, body);
    const { secret } = await issueKey(program, { name, scopes, agentId: id });
    return { id, key: secret };
  };
  const person = { kind: 'human', capabilities: ['review'] };
  const bot = await agent({ name: 'payment-bot', capabilities: ['pay-invoice', 'read-invoice'] }, ['execute', 'read']);
  const finn = await agent({ ...person, name: 'finn', roles: ['finance'] }, ['review', 'read']);
  const sara = await agent({ ...person, name: 'sara', roles: ['security'] }, ['review', 'read', 'audit']);
  const { secret: auditor } = await issueKey(program, { name: 'auditor', scopes: ['audit', 'read'] });
  await createPolicy(program, {
    name: 'bot-may-pay',
    subjects: ['agent:payment-bot'],
    actions: ['pay-invoice'],
    description: 'The payment bot pays invoices.',
  });
  await createPolicy(program, {
    name: 'large-payments',
    description: 'Payments of 10,000 or more need finance and security.',
    effect: 'require_approval',
    actions: ['pay-invoice'],
    conditions: [{ parameter: '/amount', op: 'gte', value: 10_000 }],
    approval: {
      riskLevel: 'medium',
      approvers: [{ subjects: ['role:security'] }, { subjects: ['role:finance'] }],
      decideWithin: 'PT4H',
    },
  });
  return { program, bot, finn, sara, auditor: { key: auditor }, supplier };
}

/** Has the bot ask, and returns the waiting execution. */
export async function askToPay(
  { program, bot }: DemoCompany,
  parameters: Members = {},
): Promise<{ id: string; decisionId: string }> {
  const { status, body } = await send(program, 'POST', '/api/v1/agents/payment-bot/execute', {
    key: bot.key,
    body: { ...PAYMENT, parameters: { ...PAYMENT.parameters, ...parameters } },
  });
  expect(status).toBe(202);
  return body;
}

/** A stage that the tests of a file share; it is there from the first test on. */
export class CompanyStage {
  company!: DemoCompany;
  browser!: TestBrowser;
}

type Environment = Readonly<Record<string, string>>;

/**
 * A company and a browser for the tests of a file. A test must leave neither a fault in the browser nor an open window.
 */
export function companyStage(
  environment: () => Environment | Promise<Environment> = () => ({}),
  start: (environment: Environment) => Promise<CompanyService> = startApplication,
): CompanyStage {
  const stage = new CompanyStage();
  beforeAll(async () => {
    stage.company = await foundCompany(await start({ RATE_LIMIT: '100000', ...(await environment()) }));
    stage.browser = await TestBrowser.launch();
  });
  afterEach(async () => {
    const faults = stage.browser.takeFaults();
    await stage.browser.closeWindows();
    expect(faults).toEqual([]);
  });
  afterAll(async () => {
    await stage.browser.close();
    await stage.company.program.stop();
  });
  return stage;
}
