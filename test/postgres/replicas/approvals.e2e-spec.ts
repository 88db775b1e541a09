import { Injectable, Module } from '@nestjs/common';
import { ActionHandler } from '../../../src/governance/executions/handlers/action-handlers';
import { approved, company, EXECUTIONS, requireApproval, resume } from '../../approvals/support';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { auditOf, chainIsValid } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';

const RESUMES = 1_000;
let effects = 0;

@Injectable()
class Refunds {
  @ActionHandler('refund')
  refund(): unknown {
    effects += 1;
    return { refunded: effects };
  }
}

@Module({ providers: [Refunds] })
class RefundsModule {}

describe('Approvals on two replicas', () => {
  let database: TemporaryDatabase;
  let replicas: [TestApp, TestApp];

  beforeAll(async () => {
    database = await temporaryDatabase();
    const { environment } = database;
    const start = (): Promise<TestApp> => createTestApp({ environment, modules: [RefundsModule] });
    replicas = [await start(), await start()];
  });
  afterAll(async () => {
    await chainIsValid(replicas[0]);
    await Promise.all(replicas.map((replica) => replica.close()));
    await database.remove();
  });

  it(`are used once by ${RESUMES} racing resumes`, async () => {
    const [one, other] = replicas;
    const people = await company(one);
    await requireApproval(one);
    const { id } = await approved(one, people);
    const answers = await Promise.all(
      Array.from({ length: RESUMES }, (_, index) => resume(index % 2 === 0 ? one : other, id)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(RESUMES - 1);
    expect(effects).toBe(1);
    expect((await send(other, 'GET', `${EXECUTIONS}/${id}?wait=10`)).body).toMatchObject({ outcome: 'executed' });
    expect((await auditOf(other, id)).map(({ action }) => action)).toEqual([
      'execution.approval_requested',
      'execution.approved',
      'execution.resumed',
      'execution.completed',
    ]);
  });
});
