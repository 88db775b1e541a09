import { cpSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ORIGIN, SoftwareAuthenticator } from '../support/application/authenticator';
import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { signAndApprove, signedOf, type Signer, signer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { ROOT } from '../support/documents/markdown';
import { forge } from './forged-file';
import { runProgram } from './run-program';
import { decisionFileOf, verifyFile } from './verified-file';

const FOR_ALL = { for: 'PT1H', parameters: 'same', resources: null, uses: null };

describe('The verifier, on signed approvals', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { PUBLIC_URL: ORIGIN } });
    await createAgent(app, { name: 'bot', capabilities: ['pay'] });
    const people: Signer[] = [];
    for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const)
      people.push(await signer(app, `ann ${algorithm}`, ['finance'], new SoftwareAuthenticator(algorithm)));
    const approvers = [{ subjects: ['role:finance'], approvals: 3, signed: true }];
    await createPolicy(app, { effect: 'require_approval', approval: { approvers, grant: { for: 'PT1H' } } });
    const signedExecution = await execute(app);
    for (const who of people) {
      const { body: decision } = await send(app, 'GET', `/api/v1/decisions/${signedExecution.decisionId}`);
      const signature = who.device.sign(signedOf(decision, who.agent.id, FOR_ALL));
      const sent = { signature, grant: { for: 'PT1H' }, comment: 'as agreed' };
      expect((await signAndApprove(app, signedExecution.decisionId, who, sent)).status).toBe(200);
    }
    await send(app, 'POST', `/api/v1/executions/${signedExecution.id}/resume`);
    const { body } = await send(app, 'GET', '/api/v1/provenance/checkpoint');
    return { app, people, signedExecution, served: await execute(app), publicKey: String(body.publicKey) };
  });

  async function execute(app: Parameters<typeof send>[0]): Promise<Parsed> {
    const body = { action: 'pay', resourceType: 'bill', resourceId: 'b/1', parameters: { amount: 9 } };
    return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
  }

  it('says whose device signed what, and who registered it when, in a page as well', async () => {
    const { app, signedExecution, served, people, publicKey } = stage;
    expect(served.outcome).toBe('authorized');
    const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    for (const execution of [signedExecution, served]) {
      const text = await decisionFileOf(app, execution);
      const { exitCode, output } = await verifyFile(text, publicKey, log);
      expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
      const { entries } = JSON.parse(text);
      const registered = entries.filter(({ action }: Parsed) => action === 'passkey.registered');
      expect(registered.map((entry: Parsed) => entry.subjectId)).toEqual(people.map(({ passkeyId }) => passkeyId));
      for (const [index, { agent, passkeyId }] of people.entries()) {
        const { timestamp, audit } = registered[index];
        expect(output).toContain(
          `The device with the passkey Phone (${passkeyId}) verified its user and signed exactly this approval, on ${ORIGIN}. ` +
            `That passkey was registered for ${agent.id} at ${timestamp}, with the key ${audit.actor.id}.`,
        );
      }
    }
    const folder = mkdtempSync(join(tmpdir(), 'page-test-'));
    try {
      cpSync(join(ROOT, 'verifier'), join(folder, 'verifier'), { recursive: true });
      renameSync(join(folder, 'verifier/primitives-browser.mjs'), join(folder, 'verifier/primitives.mjs'));
      const path = join(folder, 'a.evidence.json');
      writeFileSync(path, await decisionFileOf(app, signedExecution));
      const output = await runProgram(join(folder, 'verifier/main'), app.url, path, '--public-key', publicKey);
      expect(output).toMatch(/RECOMPUTED: authorized as recorded\n$/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('finds with either primitives the same signatures to be made by a key', async () => {
    const answers = JSON.parse(await runProgram('signature-primitives', stage.app.url, '200'));
    expect(answers).toEqual({ made: 600, damaged: 600, differing: [] });
  });

  const clientOf = (change: (client: Parsed) => void) => (signature: Parsed) => {
    const client = JSON.parse(Buffer.from(signature.clientDataJSON, 'base64url').toString());
    change(client);
    signature.clientDataJSON = Buffer.from(JSON.stringify(client)).toString('base64url');
  };
  const dataOf = (change: (data: Buffer) => void) => (signature: Parsed) => {
    const data = Buffer.from(signature.authenticatorData, 'base64url');
    change(data);
    signature.authenticatorData = data.toString('base64url');
  };
  /** Changes of the signature in every review, in every state of the decision. */
  const SIGNATURES: Record<string, [change: (signature: Parsed) => void, pattern: RegExp]> = {
    'another origin': [
      clientOf((client) => (client.origin = 'https://evil.example')),
      /signed on "https:\/\/evil\.example"/,
    ],
    http: [clientOf((client) => (client.origin = ORIGIN.replace('https', 'http'))), /which is not the service/],
    'another challenge': [clientOf((client) => (client.challenge = 'AAAA')), /the challenge that was signed/],
    'a registration': [clientOf((client) => (client.type = 'webauthn.create')), /the operation of the browser/],
    'no JSON': [(signature) => (signature.clientDataJSON = 'AAAA'), /the challenge that was signed/],
    'another host': [dataOf((data) => data.fill(7, 0, 32)), /for which host/],
    'a user who was not verified': [dataOf((data) => (data[32] = 0x01)), /did not verify who touched it/],
    'another counter': [dataOf((data) => (data[36] = 9)), /did not make this signature/],
    'other bytes': [(signature) => (signature.signature = 'AAAA'), /did not make this signature/],
    'no base64url': [
      (signature) => (signature.signature = `${String(signature.signature)}=`),
      /did not make this signature/,
    ],
    'more members': [(signature) => (signature.userHandle = 'AAAA'), /does not know/],
    'another passkey': [(signature) => (signature.passkeyId = 'psk_other'), /registered the passkey psk_other before/],
  };

  async function changed(change: (file: Parsed) => void): Promise<string> {
    const { text, publicKey } = forge(await decisionFileOf(stage.app, stage.signedExecution), change);
    const { exitCode, output } = await verifyFile(text, publicKey);
    expect({ exitCode, output }).toMatchObject({ exitCode: 1 });
    return output;
  }

  function reviewsIn({ entries }: Parsed): Parsed[] {
    return entries.flatMap(({ subjectType, state }: Parsed) => (subjectType === 'decision' ? state.reviews : []));
  }

  it.each(Object.keys(SIGNATURES))('finds %s', async (name) => {
    const [change, pattern] = SIGNATURES[name] ?? [() => undefined, /$^/];
    const output = await changed((file) => {
      for (const { signature } of reviewsIn(file)) change(signature);
    });
    expect(output).toMatch(pattern);
  });

  it('finds an approval of something else, by someone else, unsigned, or by a passkey of which the file says nothing', async () => {
    const ofDecision = (change: (state: Parsed) => void) => (file: Parsed) => {
      for (const { subjectType, state } of file.entries) if (subjectType === 'decision') change(state);
    };
    const isRegistration = ({ action }: Parsed): boolean => action === 'passkey.registered';
    expect(await changed(ofDecision((state) => (state.actionHash = 'a'.repeat(64))))).toMatch(
      /the challenge that was signed/,
    );
    expect(
      await changed(ofDecision(({ reviews }) => reviews.forEach((review: Parsed) => delete review.grant))),
    ).toMatch(/the challenge that was signed/);
    expect(
      await changed((file) => {
        for (const entry of file.entries.filter(isRegistration)) entry.state.agentId = 'agt_other';
      }),
    ).toMatch(/whose passkey signed/);
    const swapped = await changed(({ entries }) => {
      const [one, other] = entries.filter(isRegistration);
      [one.state.publicKey, other.state.publicKey] = [other.state.publicKey, one.state.publicKey];
    });
    expect(swapped).toMatch(/did not make this signature/);
    expect(
      await changed((file) => {
        file.entries = file.entries.filter((entry: Parsed) => !isRegistration(entry));
      }),
    ).toMatch(/no entry that registered the passkey/);
    const unsigned = (file: Parsed): void => {
      for (const review of reviewsIn(file)) delete review.signature;
    };
    expect(await changed(unsigned)).toMatch(/the groups of the review is recorded/);
    const without = await changed((file) => {
      unsigned(file);
      for (const review of reviewsIn(file)) review.groups = [];
    });
    expect(without).toMatch(/gave no signature, which each of its groups needs/);
  });

  it('recomputes what was signed before its passkey was removed', async () => {
    const { app, people, signedExecution, publicKey } = stage;
    const [first] = people as [Signer];
    const text = await decisionFileOf(app, signedExecution);
    await send(app, 'POST', `/api/v1/agents/${first.agent.id}/passkeys/${first.passkeyId}/remove`);
    const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    expect((await verifyFile(text, publicKey, log)).exitCode).toBe(0);
    expect((await verifyFile(await decisionFileOf(app, signedExecution), publicKey, log)).exitCode).toBe(0);
  });

  it('recomputes what a device signed that somebody else had before, whose passkey was removed', async () => {
    const { app, publicKey } = stage;
    const device = new SoftwareAuthenticator();
    const before = await signer(app, 'bea', ['finance'], device);
    await send(app, 'POST', `/api/v1/agents/${before.agent.id}/passkeys/${before.passkeyId}/remove`);
    const after = await signer(app, 'cy', ['board'], device);
    const approvers = [{ subjects: ['role:board'], signed: true }];
    await createPolicy(app, { effect: 'require_approval', priority: 1, actions: ['pay'], approval: { approvers } });
    const execution = await execute(app);
    expect((await signAndApprove(app, execution.decisionId, after)).body.status).toBe('approved');
    const text = await decisionFileOf(app, execution);
    const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    const { exitCode, output } = await verifyFile(text, publicKey, log);
    expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
  });
});
