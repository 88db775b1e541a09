import { setTimeout as sleep } from 'node:timers/promises';
import { ESCALATION_SETTLEMENT } from '../../src/governance/decisions/decision-settlement';
import type { DueSettlement } from '../../src/ledger/due-settlement';
import { auditOf } from '../support/application/factories';
import { send } from '../support/application/send';
import { approve, newPolicy, startChanges } from './support';

const ESCALATING = [{ subjects: ['*'], escalate: { after: 'PT1S', subjects: ['role:security'] } }];

describe('A change whose group is not filled in time', () => {
  it('is escalated by the review that comes first', async () => {
    const { app, ada, cyd } = await startChanges({ CHANGE_APPROVERS: JSON.stringify(ESCALATING) });
    try {
      // Nothing but a review escalates from here on.
      await app.application.get<DueSettlement<never>>(ESCALATION_SETTLEMENT.provide).onModuleDestroy();
      const { body } = await send(app, 'POST', '/api/v1/policies', { key: cyd.key, body: newPolicy() });
      const { id, createdAt } = body;
      await sleep(Date.parse(createdAt) + 1_050 - Date.now());
      expect(await approve(app, id, ada)).toMatchObject({ status: 200, body: { status: 'approved' } });
      const actions = (await auditOf(app, id)).map(({ action }) => action);
      expect(actions).toEqual(['decision.proposed', 'decision.escalated', 'decision.approved']);
    } finally {
      await app.close();
    }
  });
});
