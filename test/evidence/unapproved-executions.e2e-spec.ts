import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { eraseIn } from './erased-log';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

describe('The verifier, on an execution in the log that needed an approval, and is not in the file', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    await createPolicy(app, { name: 'looks', actions: ['look'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }], grant: { for: 'PT1H' } };
    await createPolicy(app, { name: 'pays', effect: 'require_approval', actions: ['pay'], approval });
    const execute = async (action: string, resourceId: string): Promise<Parsed> => {
      const body = { action, resourceType: 'bill', resourceId, parameters: { amount: 30 } };
      return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
    };
    const pay = async (resourceId: string, grant?: object): Promise<Parsed> => {
      const execution = await execute('pay', resourceId);
      const path = `/api/v1/decisions/${execution.decisionId}/approve`;
      expect((await send(app, 'POST', path, { body: { approverId: 'ann', grant } })).status).toBe(200);
      expect((await send(app, 'POST', `/api/v1/executions/${execution.id}/resume`)).status).toBe(200);
      return execution;
    };
    const [approved, other] = [await pay('a'), await pay('b')];
    await pay('d', { for: 'PT1H' });
    const granted = await execute('pay', 'd');
    expect(granted.grantId).toMatch(/^grt_/);
    const result = await send(app, 'POST', `/api/v1/executions/${granted.id}/result`, {
      body: { outcome: 'executed' },
    });
    expect(result.status).toBe(200);
    const lookup = await execute('look', 'c');
    return { app, approved, other, granted, lookup, ...(await keyAndLog(app)) };
  });

  /** Runs the verifier on the file of another execution, with a changed log. */
  async function forged(change: (entries: Parsed[], approved: Parsed, other: Parsed) => Parsed[]): Promise<string> {
    const { app, approved, other, lookup, log: honest } = stage;
    const text = await decisionFileOf(app, lookup as { id: string });
    const { log, publicKey, ...file } = forgeLog({ text, log: honest }, (entries) => change(entries, approved, other));
    return (await verifyFile(file.text, publicKey, log)).output;
  }

  it('recomputes the log as it was', async () => {
    expect(await forged((entries) => entries)).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
  });

  it.each<[how: string, change: Parameters<typeof forged>[0]]>([
    [
      'by a decision that was rejected',
      (entries, { decisionId }) => {
        for (const { subjectId, action, state, audit, ...entry } of entries) {
          if (subjectId !== decisionId || action !== 'decision.approved') continue;
          Object.assign(audit, { action: 'decision.rejected' });
          audit.details.verdict = 'reject';
          state.status = 'rejected';
          state.reviews[0].verdict = 'reject';
          Object.assign(entries[entry['sequence'] - 1], { action: 'decision.rejected' });
        }
        return entries;
      },
    ],
    [
      'by the approval of another one',
      (entries, approved, other) => {
        for (const { subjectId, state, audit } of entries)
          if (subjectId === other.id) state.decisionId = audit.details.decisionId = approved.decisionId;
        return entries.filter(({ subjectId }) => subjectId !== other.decisionId);
      },
    ],
    [
      'by a decision that is about another one',
      (entries, approved, other) => {
        for (const { subjectId, state } of entries) if (subjectId === approved.decisionId) state.executionId = other.id;
        return entries;
      },
    ],
  ])('finds one that was resumed %s', async (_how, change) => {
    const output = await forged(change);
    expect(output).toMatch(/\nDIFFERENCE entry \d+: exe_\w+ was resumed, and no approved decision is on it\n/);
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });

  describe('and was erased with its decision', () => {
    const erased = (entries: Parsed[], { id, decisionId }: Parsed): Parsed[] =>
      eraseIn(eraseIn(entries, ['execution', id]), ['decision', decisionId]);
    const without = (entries: Parsed[], { id, decisionId }: Parsed, actions: readonly string[]): Parsed[] =>
      entries.filter(({ action, subjectId }) => ![id, decisionId].includes(subjectId) || !actions.includes(action));

    it('recomputes the log if it was approved', async () => {
      expect(await forged(erased)).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
    });

    it.each<[how: string, change: Parameters<typeof forged>[0], fault: RegExp]>([
      [
        'after a rejection',
        (entries, approved) => {
          for (const entry of entries) {
            if (entry['subjectId'] !== approved['decisionId'] || entry['action'] !== 'decision.approved') continue;
            entry['action'] = entry['audit'].action = 'decision.rejected';
            entry['state'].status = 'rejected';
          }
          return erased(entries, approved);
        },
        /exe_\w+ was resumed, and no approved decision is on it/,
      ],
      [
        'without an approval',
        (entries, approved) => erased(without(entries, approved, ['decision.approved']), approved),
        /exe_\w+ was resumed, and no approved decision is on it/,
      ],
      [
        'while it waited',
        (entries, approved) => erased(without(entries, approved, ['execution.approved']), approved),
        /execution\.resumed though the outcome of the execution was not approved before/,
      ],
      [
        'without an approval, which its erasure claims',
        (entries, approved) => {
          const log = erased(without(entries, approved, ['decision.approved']), approved);
          for (const { action, state } of log) if (action === 'decision.erased') state.status = 'approved';
          return log;
        },
        /the status is "approved", which the erased entries before did not lead to/,
      ],
      [
        'by the approval of another one',
        (entries, approved, other) => {
          const log = erased(erased(entries, approved), other);
          for (const { action, subjectId, state } of log)
            if (action === 'execution.erased' && subjectId === other['id']) state.decisionId = approved['decisionId'];
          return log;
        },
        /exe_\w+ was resumed, and no approved decision is on it/,
      ],
      [
        'by the approval of another one, which nobody resumed',
        (entries, approved, other) => {
          const log = eraseIn(erased(entries, other), ['execution', approved['id']]);
          for (const { action, subjectId, state } of log)
            if (action === 'execution.erased' && subjectId === approved['id']) state.decisionId = other['decisionId'];
          return without(log, other, ['execution.resumed', 'execution.completed']);
        },
        /exe_\w+ was resumed, and no approved decision is on it/,
      ],
      [
        'at once, by a policy that requires an approval',
        (entries, approved) => {
          const begins = ({ action, subjectId }: Parsed): boolean =>
            action === 'execution.approval_requested' && subjectId === approved['id'];
          const actions = ['execution.approved', 'execution.resumed', 'execution.completed'];
          return erased(without(entries, approved, actions), approved)
            .filter(({ subjectId }) => subjectId !== approved['decisionId'])
            .map((entry) => {
              if (!begins(entry)) return entry;
              const action = 'execution.authorized';
              return { ...entry, action, audit: { ...entry['audit'], action } };
            });
        },
        /exe_\w+ names pays, which does not let it through/,
      ],
    ])('finds one that was resumed %s', async (_how, change, fault) => {
      const output = await forged(change);
      expect(output).toMatch(fault);
      expect(output).not.toContain('RECOMPUTED');
    });
  });

  describe('and was authorised by a grant that was erased', () => {
    const erased = (entries: Parsed[]): Parsed[] => {
      const { decisionId, executionId, id } = grantIn(entries);
      const log = eraseIn(eraseIn(entries, ['execution', executionId]), ['grant', id]);
      return eraseIn(log, ['decision', decisionId]);
    };
    const grantIn = (entries: readonly Parsed[]): Parsed => {
      const { state } = entries.find(({ action }) => action === 'grant.created') ?? {};
      const { executionId } = entries.find(({ subjectId }) => subjectId === state.decisionId)?.['state'] ?? {};
      return { ...state, executionId };
    };

    it('recomputes the log if it was for that', async () => {
      expect(await forged(erased)).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
    });

    it('finds one that the grant was not for', async () => {
      const output = await forged((entries) => {
        const log = erased(entries);
        for (const { action, state } of log) if (action === 'grant.erased') state.action = 'burn';
        return log;
      });
      expect(output).toMatch(/grt_\w+ was for another kind of action than the one for which it served/);
      expect(output).toMatch(/\nDIFFERS: .*\n$/);
    });
  });

  it('finds one that was resumed twice by one approval', async () => {
    const output = await forged((entries, { id }) => {
      const at = entries.findIndex(({ action, subjectId }) => action === 'execution.resumed' && subjectId === id);
      const again = structuredClone(entries[at]);
      Object.assign(again, { id: `${again.id}x`, auditId: `${again.auditId}x` });
      again.audit.id = again.auditId;
      return entries.toSpliced(at + 1, 0, again);
    });
    expect(output).toMatch(/FAULT chain: entry \d+: execution\.resumed of exe_\w+, which was authorised before\n/);
    expect(output).toMatch(/\nINVALID: .*\n$/);
  });

  it.each<[how: string, again: (entries: Parsed[], approved: Parsed) => Parsed[], fault: RegExp]>([
    [
      'a decision that was rejected before',
      (entries, { decisionId }) => {
        const rejection = again(entries, 'decision.approved', decisionId, ({ audit, state, ...entry }) => {
          Object.assign(audit, { action: 'decision.rejected' });
          audit.details.verdict = 'reject';
          state.status = 'rejected';
          state.reviews[0].verdict = 'reject';
          return { ...entry, audit, state, action: 'decision.rejected' };
        });
        return entries.flatMap((entry) =>
          entry.action === 'decision.approved' && entry.subjectId === decisionId ? [rejection, entry] : entry,
        );
      },
      /FAULT chain: entry \d+: decision\.approved though the status of the decision was not proposed before\n/,
    ],
    [
      'an execution that was rejected before',
      (entries, { id }) => {
        const rejection = again(entries, 'execution.approved', id, ({ audit, state, ...entry }) => {
          Object.assign(audit, { action: 'execution.rejected' });
          Object.assign(state, { outcome: 'rejected', completedAt: entry['timestamp'] });
          delete state.approvedUntil;
          return { ...entry, audit, state, action: 'execution.rejected' };
        });
        return entries.flatMap((entry) =>
          entry.action === 'execution.approved' && entry.subjectId === id ? [rejection, entry] : entry,
        );
      },
      /FAULT chain: entry \d+: execution\.approved though the outcome of the execution was not pending_approval before\n/,
    ],
    [
      'a decision for a second grant',
      (entries) => {
        const { decisionId } = entries.find(({ action }) => action === 'grant.created').state;
        const { timestamp } = entries.at(-1) ?? {};
        const approval = again(entries, 'decision.approved', decisionId, (entry) => {
          Object.assign(entry.state, { resolvedAt: timestamp, updatedAt: timestamp });
          return { ...entry, timestamp };
        });
        const { subjectId } = entries.find(({ action }) => action === 'grant.created');
        const grant = again(entries, 'grant.created', subjectId, (entry) => {
          const id = `${subjectId.slice(0, -2)}00`;
          entry.audit.subjectId = entry.state.id = id;
          entry.state.createdAt = timestamp;
          return { ...entry, subjectId: id, timestamp };
        });
        return [...entries, approval, grant];
      },
      /FAULT chain: entry \d+: decision\.approved though the status of the decision was not proposed before\n/,
    ],
  ])('finds the approval of %s', async (_how, change, fault) => {
    const output = await forged(change);
    expect(output).toMatch(fault);
    expect(output).toMatch(/\nINVALID: .*\n$/);
  });

  it.each<[what: string, change: (grant: Parsed, decision: Parsed) => void, difference: RegExp]>([
    [
      'of a decision whose reviewers gave none',
      (_grant, decision) => delete decision.state.reviews[0].grant,
      /: its reviewers did not all give the same grant\n/,
    ],
    [
      'for another action than was decided',
      ({ state }) => (state.action = 'burn'),
      /: the action of the grant is recorded as "burn", and computed as "pay"\n/,
    ],
    [
      'for longer than was given',
      ({ state, audit }) => (state.until = audit.details.until = '2099-01-01T00:00:00.000Z'),
      /: the end of the grant is recorded as "2099-01-01T00:00:00.000Z", and computed as /,
    ],
    [
      'for longer than the decision allows',
      ({ state, audit, timestamp }, decision) => {
        decision.state.reviews[0].grant.for = 'P2D';
        const until = new Date(Date.parse(timestamp) + 2 * 86_400_000).toISOString();
        state.until = audit.details.until = until;
      },
      /: the decision does not allow such a grant\n/,
    ],
  ])('finds a grant %s', async (_what, change, difference) => {
    const output = await forged((entries) => {
      const grant = entries.find(({ action }) => action === 'grant.created');
      const { decisionId } = grant.state;
      change(
        grant,
        entries.find(({ action, subjectId }) => action === 'decision.approved' && subjectId === decisionId),
      );
      return entries;
    });
    expect(output).toMatch(difference);
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });

  it('finds a second result', async () => {
    const output = await forged((entries) => [
      ...entries,
      again(entries, 'execution.completed', stage.granted.id, (entry) => ({
        ...entry,
        timestamp: entries.at(-1)?.timestamp,
      })),
    ]);
    expect(output).toMatch(/FAULT chain: entry \d+: execution\.completed of exe_\w+, which had ended before\n/);
    expect(output).toMatch(/\nINVALID: .*\n$/);
  });

  it('finds an execution by a grant that was revoked', async () => {
    const { id, grantId } = stage.granted;
    const isOfGranted = ({ action, subjectId }: Parsed): boolean =>
      action === 'execution.authorized' && subjectId === id;
    const output = await forged((entries) => {
      const revoked = again(entries, 'grant.created', grantId, ({ audit, state, ...entry }) => {
        const { timestamp } = entries.find(isOfGranted);
        Object.assign(audit, { action: 'grant.revoked', details: { decisionId: state.decisionId } });
        return { ...entry, timestamp, audit, state: { ...state, status: 'revoked' }, action: 'grant.revoked' };
      });
      return entries.flatMap((entry) => (isOfGranted(entry) ? [revoked, entry] : entry));
    });
    expect(output).toMatch(
      /\nDIFFERENCE entry \d+: the status of the grant is recorded as "revoked", and computed as "active"\n/,
    );
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });

  it.each([
    ['that no decision gave', false, /\nDIFFERENCE entry \d+: grt_\w+ was made, and no decision gave it then\n/],
    ['beside another one', true, /\nDIFFERENCE entry \d+: the decision dec_\w+ had given a grant before\n/],
  ])('finds a grant %s', async (_which, isSecond, difference) => {
    const output = await forged((entries, { decisionId }) => {
      const at = entries.findIndex(({ action }) => action === 'grant.created');
      const grant = structuredClone(entries[at]);
      const id = `${grant.subjectId.slice(0, -2)}00`;
      Object.assign(grant, { id: `${grant.id}x`, auditId: `${grant.auditId}x`, subjectId: id });
      Object.assign(grant.audit, { id: grant.auditId, subjectId: id });
      grant.state.id = id;
      if (!isSecond) grant.state.decisionId = grant.audit.details.decisionId = decisionId;
      return entries.toSpliced(at + 1, 0, grant);
    });
    expect(output).toMatch(difference);
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });
});

/** A changed copy of an entry, with ids of its own. */
function again(entries: readonly Parsed[], name: string, subject: string, change: (entry: Parsed) => Parsed): Parsed {
  const original = entries.find(({ action, subjectId }) => action === name && subjectId === subject);
  const copy = change(structuredClone(original));
  Object.assign(copy, { id: `${copy.id}x`, auditId: `${copy.auditId}x` });
  copy.audit.id = copy.auditId;
  return copy;
}
