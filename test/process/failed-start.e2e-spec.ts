import { Injectable, Module, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { createApp } from '../../src/create-app';
import { createTestApp } from '../support/application/create-test-app';
import { API_KEY } from '../support/application/api-key';
import { DRIVER_OF_THE_RUN } from '../support/database/database-kind';
import { leaseHolders } from '../support/database/leases';
import { temporaryDatabase } from '../support/database/temporary-database';

@Injectable()
class FailsEarly implements OnModuleInit {
  onModuleInit(): never {
    throw new Error('This module cannot begin.');
  }
}

@Module({ providers: [FailsEarly] })
class FailsEarlyModule {}

@Injectable()
class FailsLate implements OnApplicationBootstrap {
  onApplicationBootstrap(): never {
    throw new Error('This module cannot begin.');
  }
}

@Module({ providers: [FailsLate] })
class FailsLateModule {}

it.each([
  ['when modules begin', FailsEarlyModule],
  ['when all modules have begun', FailsLateModule],
])('A start that fails %s leaves the database to the next one', async (_when, module) => {
  const database = await temporaryDatabase();
  const environment = { API_KEY, LOG_LEVEL: 'fatal', ...DRIVER_OF_THE_RUN, ...database.environment };
  await expect(createApp({ environment, modules: [module] })).rejects.toThrow('This module cannot begin.');
  expect(await leaseHolders(database.environment.DATABASE_URL)).toEqual([]);
  const app = await createTestApp({ environment });
  await app.close();
  await database.remove();
});
