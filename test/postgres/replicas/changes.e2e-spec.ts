import { raceForChange } from '../../changes/change-race';
import { FOUR_EYES, registerThree } from '../../changes/support';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid } from '../../support/application/factories';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';

const ROUNDS = Number(process.env['CHANGE_ROUNDS'] ?? 20);

describe('A change that needs a second person, on two replicas', () => {
  let database: TemporaryDatabase;
  let replicas: [TestApp, TestApp];

  beforeAll(async () => {
    database = await temporaryDatabase();
    const environment = { ...database.environment, ...FOUR_EYES, RATE_LIMIT: '1000000' };
    replicas = [await createTestApp({ environment }), await createTestApp({ environment })];
  });
  afterAll(async () => {
    await chainIsValid(replicas[0]);
    await Promise.all(replicas.map((replica) => replica.close()));
    await database.remove();
  });

  it('is made at most once, by whichever, and only if it was approved', async () => {
    const people = await registerThree(replicas[0]);
    for (let round = 0; round < ROUNDS; round += 1) await raceForChange(replicas, people, round);
  });
});
