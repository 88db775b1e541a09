import {
  type FactoryProvider,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '../../src/create-app';
import { postgresSettings } from '../../src/program/testing/test-api-key';
import { Database } from '../../src/ledger/database/database';
import { LedgerService } from '../../src/ledger/ledger.service';
import { createTestApp } from '../support/application/create-test-app';
import { API_KEY } from '../support/application/api-key';
import { onPostgres } from '../support/database/database-kind';
import { onServer } from '../support/database/database-server';
import { leaseHolders } from '../support/database/leases';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const FAULT = 'This module cannot begin.';

@Injectable()
class FailsEarly implements OnModuleInit {
  onModuleInit(): never {
    throw new Error(FAULT);
  }
}

@Module({ providers: [FailsEarly] })
class FailsEarlyModule {}

@Injectable()
class FailsLate implements OnApplicationBootstrap {
  onApplicationBootstrap(): never {
    throw new Error(FAULT);
  }
}

@Module({ providers: [FailsLate] })
class FailsLateModule {}

@Injectable()
class FailsTwice extends FailsLate implements OnModuleDestroy {
  onModuleDestroy(): never {
    throw new Error('This module cannot end.');
  }
}

@Module({ providers: [FailsTwice] })
class FailsTwiceModule {}

/** Before the database is open. */
@Module({})
class FailsAtOnceModule {
  constructor() {
    throw new Error(FAULT);
  }
}

function failsWith(token: typeof Database | typeof LedgerService): FactoryProvider {
  return { provide: 'FAILS', inject: [token], useFactory: () => Promise.reject(new Error(FAULT)) };
}

@Module({ providers: [failsWith(Database)] })
class FailsWithDatabaseModule {}

@Module({ providers: [failsWith(LedgerService)] })
class FailsWithLedgerModule {}

@Module({ providers: [{ provide: 'LACKS', inject: [LedgerService, 'NOTHING'], useFactory: () => null }] })
class LacksModule {}

describe('A start that fails', () => {
  let database: TemporaryDatabase;
  let environment: Record<string, string>;

  beforeAll(async () => {
    database = await temporaryDatabase();
    environment = { API_KEY, LOG_LEVEL: 'error', ...postgresSettings(database.environment), ...database.environment };
    await starts();
  });
  afterAll(() => database.remove());

  async function starts(): Promise<void> {
    const app = await createTestApp({ environment });
    await app.close();
  }

  /** Sessions of the service on the server. */
  async function sessions(): Promise<unknown[]> {
    if (!onPostgres) return [];
    const ofService = `datname = current_database() AND application_name = 'agent-governance'`;
    return onServer(`SELECT query FROM pg_stat_activity WHERE ${ofService}`, database.environment.DATABASE_URL);
  }

  it.each([
    ['when modules begin', FailsEarlyModule, FAULT],
    ['when all modules have begun', FailsLateModule, FAULT],
    ['when they have begun, and end', FailsTwiceModule, FAULT],
    ['while the database is opened', FailsAtOnceModule, FAULT],
    ['when the database is open', FailsWithDatabaseModule, FAULT],
    ['when the ledger has been made', FailsWithLedgerModule, FAULT],
    ['for want of a dependency', LacksModule, /can't resolve dependencies/],
  ])('%s leaves the database to the next one', async (_when, module, why) => {
    const logStream = { write: () => undefined };
    await expect(createApp({ environment, modules: [module], logStream })).rejects.toThrow(why);
    expect(await leaseHolders(database.environment.DATABASE_URL)).toEqual([]);
    while ((await sessions()).length > 0) await sleep(50);
    await starts();
  });

  it('says what could not be ended', async () => {
    const lines: string[] = [];
    const logStream = { write: (line: string) => lines.push(line) };
    await expect(createApp({ environment, modules: [FailsTwiceModule], logStream })).rejects.toThrow(FAULT);
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([expect.stringMatching(/This module cannot end\.$/)]);
  });
});
