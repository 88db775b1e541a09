import { Body, Controller, Module, Post } from '@nestjs/common';
import { changeHeader, FOUR_EYES, register } from '../changes/support';
import { NeedsSecondPerson, RequiresScope } from '../../src/http/request/routes';
import { Caller } from '../../src/http/input/caller.decorator';
import { addNote, Notes, NotesModule } from '../support/application/notes.module';
import { ORIGIN, SoftwareAuthenticator } from '../support/application/authenticator';
import { createTestApp } from '../support/application/create-test-app';
import { type Parsed, send } from '../support/application/send';
import { signedOf } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

@Controller('rules')
class RulesController {
  constructor(private readonly notes: Notes) {}

  @Post()
  @RequiresScope('policies')
  @NeedsSecondPerson({ summary: ({ body }) => `Write the rule ${JSON.stringify(body['slug'])}` })
  create(@Caller() caller: Caller, @Body('slug') slug: string): Promise<{ id: string }> {
    return this.notes.ledger.write(caller, (transaction) => Promise.resolve(addNote(transaction, slug)));
  }
}

@Module({ imports: [NotesModule], controllers: [RulesController] })
class RulesModule {}

describe('The verifier, on a signed change and a device of the holder of the signing key', () => {
  const stage = stageOf(async () => {
    const approvers = JSON.stringify([{ subjects: ['kind:human'], approvals: 1, signed: true }]);
    const app = await createTestApp({
      environment: { ...FOUR_EYES, PUBLIC_URL: ORIGIN, CHANGE_APPROVERS: approvers },
      modules: [RulesModule],
    });
    const cyd = await register(app, 'cyd', { scopes: ['policies', 'agents'] });
    const ben = await register(app, 'ben');
    const device = new SoftwareAuthenticator();
    const path = `/api/v1/agents/${ben.id}/passkeys`;
    const { body: options } = await send(app, 'POST', `${path}/options`, { key: ben.key });
    const registered = { credential: device.create(options['challenge']), name: 'Phone' };
    expect((await send(app, 'POST', path, { key: ben.key, body: registered })).status).toBe(201);
    await register(app, 'ada');
    const body = { slug: 'first' };
    const id = String((await send(app, 'POST', '/api/v1/rules', { key: cyd.key, body })).body.id);
    const { body: decision } = await send(app, 'GET', `/api/v1/decisions/${id}`);
    const review = { approverId: ben.id, signature: device.sign(signedOf(decision, ben.id)) };
    expect((await send(app, 'POST', `/api/v1/decisions/${id}/approve`, { key: ben.key, body: review })).status).toBe(
      200,
    );
    const made = await send(app, 'POST', '/api/v1/rules', { key: cyd.key, body, ...changeHeader(id) });
    expect(made.status).toBe(201);
    return { app, id, cyd, ben, decision, ...(await keyAndLog(app)) };
  });

  /** Signs with another device, and adds an entry by which its key is that of the passkey. */
  async function signedAnew(subjectType: string | undefined): Promise<readonly string[]> {
    const { app, id, cyd, ben, decision, log } = stage;
    const other = new SoftwareAuthenticator();
    const forged = forgeLog({ text: await decisionFileOf(app, { id }), log }, (entries, ids) => {
      const { response }: Parsed = other.sign(signedOf(decision, ben.id));
      const { authenticatorData, clientDataJSON, signature } = response;
      for (const { state } of entries.filter(({ subjectId }) => subjectId === id))
        for (const review of state.reviews)
          Object.assign(review.signature, { authenticatorData, clientDataJSON, signature });
      if (subjectType === undefined) return entries;
      const { subjectId, state } = entries.find(({ action }) => action === 'passkey.registered') ?? {};
      const at = entries.findIndex(({ action }) => action === 'decision.change_made');
      const added = structuredClone(entries[at - 1] ?? {});
      Object.assign(added, { id: `${added['id']}x`, auditId: `${added['auditId']}x`, subjectType, subjectId });
      const { auditId, timestamp } = added;
      const names = { id: auditId, action: 'passkey.registered', subjectType, subjectId, agentId: cyd.id };
      Object.assign(added['audit'], names);
      added['action'] = names.action;
      added['state'] = { ...state, agentId: cyd.id, publicKey: other.publicKey, createdAt: timestamp };
      const { details } = entries[at].audit;
      details.lastSequence = Number(details.lastSequence) + 1;
      ids.add(added['id']);
      return entries.toSpliced(at, 0, added);
    });
    const outputs = [
      await verifyFile(forged.text, forged.publicKey),
      await verifyFile(forged.text, forged.publicKey, forged.log),
    ];
    return outputs.map(({ output }) => output);
  }

  it('recomputes it as it was', async () => {
    const { app, id, publicKey, log } = stage;
    const { output } = await verifyFile(await decisionFileOf(app, { id }), publicKey, log);
    expect(output).toMatch(/\nRECOMPUTED: made as recorded\n$/);
  });

  const signature = 'the key of the passkey did not make this signature';
  it.each([
    [undefined, signature],
    ['note', 'passkey.registered is about a note'],
    ['passkey', signature],
  ])('finds the signature, also behind a later registration of a %s', async (kind, fault) => {
    for (const output of await signedAnew(kind)) {
      expect(output).toContain(fault);
      expect(output).toMatch(/\n(?:DIFFERS|INVALID): .*\n$/);
    }
  });
});
