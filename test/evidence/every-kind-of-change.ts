import type { TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Parsed, send, type Sent } from '../support/application/send';
import { signAndApprove, signer } from '../support/application/signers';

/** Makes a change in an emergency. */
export const AT_ONCE = { 'Break-Glass': encodeURIComponent('The board is away today') };

type Request = readonly [method: string, path: string, sent?: Sent];

/** Makes every kind of change, and returns the decision on each: nothing is held back before. */
export async function everyKindOfChange(app: TestApp): Promise<Record<string, Parsed>> {
  const cat = await createAgent(app, { name: 'cat', kind: 'human' });
  const { secret: key } = await issueKey(app, { agentId: cat.id, scopes: ['policies', 'agents'] });
  await createPolicy(app, { name: 'old', actions: ['sing'] });
  const stop = await send(app, 'POST', '/api/v1/stops', { body: { actions: ['dance'], reason: 'Too loud.' } });
  const dan = await signer(app, 'dan', ['board']);
  const fay = await signer(app, 'fay', ['board']);
  const propose = async ([method, path, sent]: Request): Promise<Parsed> =>
    (await send(app, method, `/api/v1${path}`, sent)).body;
  const review = (
    verdict: string,
    { id }: Parsed,
    person: Pick<typeof dan, 'key'>,
    body: object = {},
  ): Promise<unknown> => send(app, 'POST', `/api/v1/decisions/${id}/${verdict}`, { key: person.key, body });
  const make = async ([method, path, sent]: Request, { id }: Parsed): Promise<void> => {
    const { status } = await send(app, method, `/api/v1${path}`, { ...sent, headers: { Change: id } });
    expect([path, status < 300 && status !== 202]).toEqual([path, true]);
  };
  const made: Record<string, Parsed> = {};
  const policy = { effect: 'allow', subjects: ['*'], actions: ['sing'], resources: ['*'] };
  const newer: Request = ['POST', '/policies', { key, body: { ...policy, name: 'old', version: '2' } }];
  made['a changed policy'] = await propose(newer);
  await signAndApprove(app, made['a changed policy'].id, dan, { comment: 'Fine.' });
  await make(newer, made['a changed policy']);
  const ofKey: Request = ['POST', '/api-keys', { body: { name: 'robot', scopes: ['read'] } }];
  made['a key that nobody proposed'] = await propose(ofKey);
  await review('approve', made['a key that nobody proposed'], dan);
  await review('approve', made['a key that nobody proposed'], fay);
  await make(ofKey, made['a key that nobody proposed']);
  const ofAgent: Request = ['PATCH', '/agents/other', { key, body: { roles: ['singer'], description: 'It sings.' } }];
  made['a changed agent'] = await propose(ofAgent);
  await review('approve', made['a changed agent'], fay);
  await make(ofAgent, made['a changed agent']);
  const lift: Request = ['POST', `/stops/${stop.body.id}/lift`, { body: { reason: 'Quiet now.' } }];
  made['a lifted stop'] = await propose(lift);
  await review('approve', made['a lifted stop'], dan);
  await review('approve', made['a lifted stop'], fay);
  await make(lift, made['a lifted stop']);
  const person: Request = ['POST', '/agents', { body: { name: 'gus', kind: 'human' } }];
  made['a change that is open'] = await propose(person);
  const rejected: Request = ['POST', '/agents', { key, body: { name: 'hal' } }];
  made['a rejected change'] = await propose(rejected);
  await review('reject', made['a rejected change'], dan, { comment: 'Why?' });
  made['a cancelled change'] = await propose(['POST', '/agents', { key, body: { name: 'ivo' } }]);
  await send(app, 'POST', `/api/v1/decisions/${made['a cancelled change'].id}/cancel`, {
    key,
    body: { reason: 'No.' },
  });
  const emergencies: Request[] = [
    [
      'POST',
      '/policies',
      { headers: AT_ONCE, body: { ...policy, name: 'urgent', version: '1', subjects: ['role:nobody'] } },
    ],
    ['POST', '/agents', { headers: AT_ONCE, body: { name: 'urgent', roles: ['singer'] } }],
  ];
  for (const [index, emergency] of emergencies.entries()) {
    await propose(emergency);
    const open = await send(app, 'GET', '/api/v1/decisions?type=change_review&status=proposed');
    const [decision = {}] = open.body.data as Parsed[];
    made[index === 0 ? 'an emergency' : 'an emergency that nobody has reviewed'] = decision;
    if (index > 0) continue;
    for (const person of [dan, fay]) await review('approve', decision, person, { comment: 'Understood.' });
  }
  return made;
}
