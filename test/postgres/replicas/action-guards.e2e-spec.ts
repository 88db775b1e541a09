import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { notFound } from '../../../src/core/errors/domain-error';
import { ActionGuard, type GuardedAction } from '../../../src/governance/permissions/action-guards';
import { SYSTEM_CALLER } from '../../../src/ledger/kinds/caller';
import { LedgerModule } from '../../../src/ledger/ledger.module';
import { LedgerService } from '../../../src/ledger/ledger.service';
import type { RecordKind } from '../../../src/ledger/kinds/record-kind';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../../support/application/factories';
import { NOTE, type Note, NotesSchema1763600009000 } from '../../support/application/notes.module';
import { send } from '../../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';

const FREEZE: RecordKind<Note> = { ...NOTE, isKeptInMemory: true };
const ROUNDS = 10;

/** Refuses the actions for which a freeze is recorded, as docs/extending.md shows. */
@Injectable()
class Freezes implements OnModuleInit {
  private readonly frozen = new Map<string, string>();

  constructor(private readonly ledger: LedgerService) {}

  onModuleInit(): Promise<void> {
    return this.ledger.keepInMemory({
      kind: FREEZE,
      actions: ['freeze.added', 'freeze.lifted'],
      keep: (freezes) => {
        for (const { id, topic, text } of freezes)
          if (text === 'frozen') this.frozen.set(id, topic);
          else this.frozen.delete(id);
      },
    });
  }

  @ActionGuard('freezes')
  refusal({ action }: GuardedAction): string | null {
    return [...this.frozen.values()].includes(action) ? 'It is frozen.' : null;
  }

  add(slug: string): Promise<Note> {
    return this.ledger.write(SYSTEM_CALLER, async (transaction) => {
      const note = { id: transaction.newId(FREEZE), slug, topic: 'deploy', text: 'frozen' };
      return transaction.insert(FREEZE, note, { action: 'freeze.added' });
    });
  }

  lift(id: string): Promise<Note> {
    return this.ledger.write(SYSTEM_CALLER, async (transaction) => {
      const note = await transaction.find(FREEZE, id);
      if (note === undefined) throw notFound('freeze');
      return transaction.update(FREEZE, { ...note, text: 'lifted' }, { action: 'freeze.lifted' });
    });
  }
}

@Module({
  imports: [LedgerModule.forFeature({ kinds: [FREEZE], migrations: [NotesSchema1763600009000] })],
  providers: [Freezes],
})
class FreezesModule {}

describe('An action guard on several replicas', () => {
  let database: TemporaryDatabase;
  const replicas: TestApp[] = [];

  async function start(): Promise<TestApp> {
    const app = await createTestApp({ environment: database.environment, modules: [FreezesModule] });
    replicas.push(app);
    return app;
  }

  beforeAll(async () => {
    database = await temporaryDatabase();
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.close()));
    await database.remove();
  });

  async function reason(app: TestApp): Promise<string | undefined> {
    const body = { action: 'deploy', resourceType: 'app', resourceId: 'shop' };
    return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body.error?.reason;
  }

  it('answers alike on each of them, and after a start, by what is on record', async () => {
    const [first, second] = [await start(), await start()];
    await createAgent(first, { name: 'bot', capabilities: ['deploy'] });
    await createPolicy(first, { actions: ['deploy'], resources: ['*'] });
    for (let round = 0; round < ROUNDS; round += 1) {
      const freeze = await first.application.get(Freezes).add(`round ${round}`);
      expect(await reason(second)).toBe('extension_refused');
      await second.application.get(Freezes).lift(freeze.id);
      expect(await reason(first)).toBeUndefined();
    }
    await second.application.get(Freezes).add('last');
    expect(await reason(await start())).toBe('extension_refused');
    await chainIsValid(first);
  });
});
