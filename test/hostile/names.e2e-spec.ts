import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent } from '../support/application/factories';
import { send } from '../support/application/send';
import { expectRefusal, invalid, post } from '../support/application/wire';

const PATH = '/api/v1/agents';

describe('A name beyond ASCII', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  it.each([
    ['written right to left by force', 'txt.\u202eexe'],
    ['written left to right by force', 'a\u202db'],
    ['with an embedding', 'a\u202ab\u202c'],
    ['with an isolate', 'a\u2066b\u2069'],
    ['with a direction mark', 'a\u200fb'],
    ['with a joiner of no width', 'a\u200db'],
    ['with a space of no width', 'a\u200bb'],
    ['with a soft hyphen', 'a\u00adb'],
    ['with a word joiner', 'a\u2060b'],
    ['with a byte order mark', '\ufeffa'],
    ['with a tag character', 'a\u{e0041}b'],
    ['with a line end', 'a\nb'],
    ['with an escape', 'a\u001b[31mb'],
    ['with a later control character', 'a\u0085b'],
    ['with a space of another kind at its end', 'a\u3000'],
    ['of white space alone', '\u2003\u00a0'],
    ['that is a slash', '/'],
    ['of 201 characters in four bytes', '\u{1f600}'.repeat(201)],
    ['of a mebibyte of marks to be put in order', `a${'\u0301\u0323'.repeat(250_000)}`],
  ])('is refused: %s', async (_what, name) => {
    await expectRefusal(app, post(PATH, JSON.stringify({ name })), invalid('name'));
  });

  it('is the same in its composed and its decomposed form, and in the forms of a singleton', async () => {
    for (const [name, same] of [
      ['\u00c5ngstr\u00f6m', 'A\u030angstro\u0308m'],
      ['\u212bngstrom', '\u00c5ngstrom'],
      ['\ud55c\uae00', '\u1112\u1161\u11ab\u1100\u1173\u11af'],
      ['a\u0323\u0307', 'a\u0307\u0323'],
    ] as const) {
      const agent = await createAgent(app, { name });
      expect(agent.name).toBe(name.normalize('NFC'));
      const answer = await send(app, 'POST', PATH, { body: { name: same } });
      expect(answer.body.error).toMatchObject({ code: 'CONFLICT' });
      expect((await send(app, 'GET', `${PATH}/${encodeURIComponent(same)}`)).body.id).toBe(agent.id);
    }
  });

  it('is a different one if it only looks the same', async () => {
    const alike = [
      ...['paypal', 'p\u0430ypal', 'p\u0251ypal', '\uff50aypal', 'Paypal', 'paypa1', 'paypaI'],
      ...['\ufb01x', 'fix', '\u2460', '1', '\u0131', 'i', 'I', '\u0130', 'stra\u00dfe', 'strasse', 'STRASSE'],
      ...['a b', 'a\u00a0b', 'a\u2028b', '\ud83d\ude00', '\ud83d\ude01', '\u2764', '\u2764\ufe0f', '\u{20000}'],
    ];
    const ids = new Set<string>();
    for (const name of alike) ids.add((await createAgent(app, { name })).id);
    expect(ids.size).toBe(alike.length);
    for (const name of alike) {
      expect((await send(app, 'GET', `${PATH}/${encodeURIComponent(name)}`)).body.name).toBe(name);
    }
  });

  it('may have 200 characters of four bytes each, wherever a name is written', async () => {
    const name = '\u{1f680}'.repeat(200);
    const agent = await createAgent(app, { name, capabilities: ['\u{1f680}'.repeat(100)] });
    const execution = { action: '\u{1f680}'.repeat(100), resourceType: 'a', resourceId: 'b' };
    const answer = await send(app, 'POST', `${PATH}/${encodeURIComponent(name)}/execute`, { body: execution });
    expect(answer.body.error).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'no_policy_allows' });
    expect(await auditOf(app, agent.id)).toHaveLength(1);
  });

  it('that is compared as it is written has to be in normal form C', async () => {
    const text = 'cafe\u0301';
    const policy = { name: 'p', version: '1', effect: 'deny', subjects: ['*'], actions: ['*'], resources: ['*'] };
    const execution = { action: 'a', resourceType: 'b', resourceId: 'c' };
    await createAgent(app, { name: 'composed' });
    const requests: [path: string, body: object, field: string][] = [
      ['agents', { name: 'x', roles: [text] }, 'roles[0]'],
      ['agents', { name: 'x', capabilities: [text] }, 'capabilities[0]'],
      ['policies', { ...policy, actions: [text] }, 'actions[0]'],
      ['policies', { ...policy, subjects: [`role:${text}`] }, 'subjects[0]'],
      ['policies', { ...policy, resourceTypes: [text] }, 'resourceTypes[0]'],
      ['agents/composed/execute', { ...execution, action: text }, 'action'],
      ['agents/composed/execute', { ...execution, resourceType: text }, 'resourceType'],
      ['policies/evaluate', { ...execution, subject: {}, action: text }, 'action'],
      ['policies/evaluate', { ...execution, subject: { roles: [text] } }, 'subject.roles[0]'],
    ];
    for (const [path, body, field] of requests)
      await expectRefusal(app, post(`/api/v1/${path}`, JSON.stringify(body)), invalid(field));
    for (const id of ['%u002e%u002e/a', 'a%25u002fb'])
      await expectRefusal(
        app,
        post('/api/v1/agents/composed/execute', JSON.stringify({ ...execution, resourceId: id })),
        invalid('resourceId'),
      );
  });

  it('of a property, a type or a predicate is stored as it was sent', async () => {
    const text = 'e\u0301\u202e\u200b\ufeff\u{1f600}';
    const body = { type: text, name: text, properties: { [text]: text } };
    const created = await send(app, 'POST', '/api/v1/entities', { body });
    expect(created.body).toMatchObject(body);
    const list = await send(app, 'GET', `/api/v1/entities?type=${encodeURIComponent(text)}`);
    expect(list.body.total).toBe(1);
    const other = await send(app, 'GET', `/api/v1/entities?type=${encodeURIComponent(text.normalize('NFC'))}`);
    expect(other.body.total).toBe(0);
  });
});
