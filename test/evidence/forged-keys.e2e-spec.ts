import { ORIGIN, SoftwareAuthenticator } from '../support/application/authenticator';
import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { signAndApprove, signedOf, signer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

describe('The verifier, on one device that counts as those of two people', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { PUBLIC_URL: ORIGIN } });
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const ann = await signer(app, 'ann', ['finance'], new SoftwareAuthenticator('RS256'));
    const bob = await signer(app, 'bob', ['finance']);
    const approvers = [{ subjects: ['role:finance'], approvals: 2, signed: true }];
    await createPolicy(app, { name: 'two', effect: 'require_approval', actions: ['wire'], approval: { approvers } });
    const request = { action: 'wire', resourceType: 'o', resourceId: 'w', parameters: {} };
    const { body: execution } = await send(app, 'POST', '/api/v1/agents/bot/execute', { body: request });
    await signAndApprove(app, execution.decisionId, ann);
    const { body: decision } = await send(app, 'GET', `/api/v1/decisions/${execution.decisionId}`);
    await signAndApprove(app, execution.decisionId, bob);
    expect((await send(app, 'POST', `/api/v1/executions/${execution.id}/resume`)).status).toBe(200);
    const signature: Parsed = ann.device.sign(signedOf(decision, bob.agent.id));
    return { app, execution: execution as { id: string }, decision, signature, ...(await keyAndLog(app)) };
  });

  /**
   * Registers the key of the first person, in some spelling, for the second one, and has the first device sign for
   * both.
   */
  async function forged(spelling: (key: Buffer) => Buffer): Promise<string> {
    const text = await decisionFileOf(stage.app, stage.execution);
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, (entries) => {
      const [first, second] = entries.filter(({ action }) => action === 'passkey.registered') as [Parsed, Parsed];
      second.state.publicKey = spelling(Buffer.from(first.state.publicKey, 'base64url')).toString('base64url');
      signForBoth(entries);
      return entries;
    });
    return (await verifyFile(file.text, publicKey, log)).output;
  }

  /** Has the first device sign for the second person, too. */
  function signForBoth(entries: readonly Parsed[]): void {
    for (const { subjectId, state } of entries) {
      const review = subjectId === stage.decision['id'] ? state.reviews[1] : undefined;
      if (review === undefined) continue;
      const { authenticatorData, clientDataJSON, signature } = stage.signature.response ?? stage.signature;
      const { passkeyId } = review.signature;
      review.signature = { passkeyId, authenticatorData, clientDataJSON, signature };
    }
  }

  /** The registration of another passkey. */
  function copyOf(entry: Parsed, id: string): Parsed {
    const copy = structuredClone(entry);
    Object.assign(copy, { id: `${entry.id}9`, auditId: `${entry.auditId}9`, subjectId: id });
    Object.assign(copy.audit, { id: copy.auditId, subjectId: id });
    copy.state.id = id;
    return copy;
  }

  /** Writes the modulus with a zero byte more. */
  function longer(key: Buffer): Buffer {
    const copied = Buffer.from(key);
    for (const length of [2, 21, 26, 30]) copied.writeUInt16BE(copied.readUInt16BE(length) + 1, length);
    return Buffer.concat([copied.subarray(0, 32), Buffer.of(0), copied.subarray(32)]);
  }

  it('finds its key though its person had registered it twice, and removed one of both', async () => {
    const text = await decisionFileOf(stage.app, stage.execution);
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, (entries) => {
      const [first, second] = entries.filter(({ action }) => action === 'passkey.registered') as [Parsed, Parsed];
      second.state.publicKey = first.state.publicKey;
      const again = copyOf(first, `${first.subjectId.slice(0, -1)}Z`);
      const removal = copyOf(again, again.subjectId);
      Object.assign(removal, { action: 'passkey.removed', state: null, salts: { ...again.salts, state: null } });
      Object.assign(removal, { id: `${again.id}8`, auditId: `${again.auditId}8` });
      Object.assign(removal.audit, { id: removal.auditId, action: removal.action });
      signForBoth(entries);
      return entries.toSpliced(entries.indexOf(first) + 1, 0, again, removal);
    });
    expect((await verifyFile(file.text, publicKey, log)).output).toMatch(
      /the key of the passkey \w+ was registered for agt_\w+ before/,
    );
  });

  it.each<[how: string, fault: RegExp, spelling: (key: Buffer) => Buffer]>([
    ['as it is', /the key of the passkey \w+ was registered for agt_\w+ before/, (key) => key],
    [
      'with a byte more',
      /the key of the passkey did not make this signature/,
      (key) => Buffer.concat([key, Buffer.of(0)]),
    ],
    ['with a number in another length', /the key of the passkey did not make this signature/, longer],
  ])('finds its key, %s', async (_how, fault, spelling) => {
    const output = await forged(spelling);
    expect(output).toMatch(fault);
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });
});
