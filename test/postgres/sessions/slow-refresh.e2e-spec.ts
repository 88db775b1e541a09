import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { LedgerModule } from '../../../src/ledger/ledger.module';
import { LedgerService } from '../../../src/ledger/ledger.service';
import { RowProjection } from '../../../src/ledger/head/projections';
import { POLICY, type Policy } from '../../../src/governance/policies/policy.entity';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createPolicy, issueKey } from '../../support/application/factories';
import { send, type Answer } from '../../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { untilStatus } from '../support/sessions';

/** Memory that takes as long as the test wants to follow what another replica has committed. */
@Injectable()
class SlowMemory implements OnModuleInit {
  /** Resolves when it has begun to follow a change. */
  readonly begun: Promise<void>;
  private begin: () => void = () => undefined;
  private release: () => void = () => undefined;
  private readonly released = new Promise<void>((resolve) => (this.release = resolve));

  private readonly rows: RowProjection<Policy>;

  constructor(private readonly ledger: LedgerService) {
    this.begun = new Promise((resolve) => (this.begin = resolve));
    const keep = async (): Promise<void> => {
      this.begin();
      await this.released;
    };
    this.rows = new RowProjection<Policy>({ kind: POLICY, status: 'active', actions: ['policy.created'], keep });
  }

  async onModuleInit(): Promise<void> {
    await this.ledger.follow(this.rows);
  }

  end(): void {
    this.release();
  }
}

@Module({ imports: [LedgerModule], providers: [SlowMemory] })
class SlowMemoryModule {}

describe('A replica whose memory of one kind takes long to follow another replica', () => {
  let database: TemporaryDatabase;
  let writer: TestApp;
  let reader: TestApp;

  beforeAll(async () => {
    database = await temporaryDatabase();
    writer = await createTestApp({ environment: database.environment });
    reader = await createTestApp({ environment: database.environment, modules: [SlowMemoryModule] });
  });
  afterAll(async () => {
    reader.application.get(SlowMemory, { strict: false }).end();
    await Promise.all([writer.close(), reader.close()]);
    await database.remove();
  });

  /** Resolves while the slow memory is following a change. */
  async function behind(): Promise<void> {
    await createPolicy(writer, {});
    await reader.application.get(SlowMemory, { strict: false }).begun;
  }

  it('refuses keys that are revoked meanwhile', async () => {
    const { id, secret } = await issueKey(writer);
    const read = (): Promise<Answer> => send(reader, 'GET', '/api/v1/entities', { headers: { 'X-API-Key': secret } });
    await behind();
    await untilStatus(read, 200);
    expect((await send(writer, 'POST', `/api/v1/api-keys/${id}/revoke`, { body: {} })).status).toBe(200);
    await untilStatus(read, 401);
  });

  it('evaluates by the policies that were changed meanwhile', async () => {
    await behind();
    const deny = await createPolicy(writer, { effect: 'deny', actions: ['burn'] });
    const body = { subject: { name: 'somebody' }, action: 'burn', resourceType: 'doc', resourceId: 'a' };
    const evaluated = await send(reader, 'POST', '/api/v1/policies/evaluate', { body });
    expect(evaluated.body).toMatchObject({ effect: 'deny', policies: [{ id: deny.id }] });
  });
});
