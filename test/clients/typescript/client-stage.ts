import type { GovernanceClient, GovernanceError } from '../../../clients/typescript/src/index.js' with {
  'resolution-mode': 'import',
};
import { type Company, company, requireApproval } from '../../approvals/support';
import { ActionsModule } from '../../support/application/actions.module';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createPolicy, issueKey } from '../../support/application/factories';
import { builtClient } from '../typescript-client';

/** A service, and clients with the operator's key and with that of an agent. */
export interface ClientStage {
  readonly module: Awaited<ReturnType<typeof builtClient>>;
  readonly app: TestApp;
  readonly people: Company;
  readonly operator: GovernanceClient;
  readonly bot: GovernanceClient;
  readonly botKey: string;
}

export async function openClientStage(): Promise<ClientStage> {
  const module = await builtClient();
  const app = await createTestApp({ modules: [ActionsModule] });
  const people = await company(app);
  await requireApproval(app);
  await createPolicy(app, { actions: ['send', 'succeed', 'fail'] });
  const operator = new module.GovernanceClient({ url: app.url, key: API_KEY });
  const { secret } = await issueKey(app, { name: 'bot', scopes: ['execute'], agentId: people.bot.id });
  const bot = new module.GovernanceClient({ url: `${app.url}/api/v1/`, key: async () => Promise.resolve(secret) });
  return { module, app, people, operator, bot, botKey: secret };
}

/** Returns the client's error with which a promise is rejected. */
export async function errorOf(promise: Promise<unknown>): Promise<GovernanceError> {
  const { GovernanceError: Expected } = await builtClient();
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Expected);
  return error as GovernanceError;
}
