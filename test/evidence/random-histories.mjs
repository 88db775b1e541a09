/**
 * Plays random histories, each of an agent, three people, who stand in for each other, and policies of its own, against
 * a running service: it executes under limits, asks again, has requests approved with grants or rejected with something
 * else instead, is stopped, and rules and people change. Then answers every request anew from an export. Prints what
 * differs as JSON.
 *
 * Usage: API=<url> API_KEY=<key> node random-histories.mjs <histories> <seed>
 */
import { ReferenceHistory } from './reference-history.mjs';

const STEPS = 24;
const AT_ONCE = 12;
const SHOWN = 3;
const [histories, seed] = process.argv.slice(2);
const { API, API_KEY = '' } = process.env;
const RESOURCES = ['a/1', 'a/1', 'b/1'];
const PEOPLE = ['ann', 'ben', 'cem'];

/** Requests that were answered with an execution that was there before. @type {Record<string, any>[]} */
const repeated = [];
/** Answers to which no request may lead. @type {Record<string, any>[]} */
const failed = [];

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {string} [key]
 * @returns {Promise<{ status: number, body: any }>}
 */
async function call(method, path, body, key = API_KEY) {
  const answer = await fetch(`${API}/api/v1${path}`, {
    method,
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  // Nothing was written: on a busy machine a write may have waited for the disk too long.
  if (answer.status === 503) return call(method, path, body, key);
  if (answer.status >= 500) failed.push({ name: 'a failure', method, path, body, text });
  return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
}

class History {
  /** @type {Record<string, string>} */
  ids = {};
  /** Maps people to their keys. @type {Record<string, string>} */
  keys = {};
  /** @type {string[]} */
  policies = [];
  version = 0;

  /** @param {number} number */
  constructor(number) {
    this.number = number;
    this.state = (Number(seed) * 7_919 + number) >>> 0;
  }

  /** @param {number} most */
  below(most) {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.state / 2 ** 32) * most);
  }

  /** @template Item @param {readonly Item[]} items @returns {Item} */
  one(items) {
    return /** @type {Item} */ (items[this.below(items.length)]);
  }

  async play() {
    const own = this.number;
    for (const [name, kind] of [
      ['bot', 'machine'],
      ['ann', 'human'],
      ['ben', 'human'],
      ['cem', 'human'],
    ])
      this.ids[String(name)] = (
        await call('POST', '/agents', {
          ...{ name: `${name} ${own}`, kind, capabilities: ['*'] },
          roles: name === 'cem' ? [`late-${own}`] : [`team-${own}`],
        })
      ).body.id;
    for (const name of PEOPLE) {
      const key = { name: `${name} ${own}`, scopes: ['review'], agentId: this.ids[name] };
      this.keys[name] = (await call('POST', '/api-keys', key)).body.secret;
    }
    await this.changePolicy();
    await this.changePolicy();
    for (let step = 0; step < STEPS; step += 1) {
      const next = this.below(18);
      if (next < 6) await this.ask();
      else if (next < 11) await this.review();
      else if (next === 11) await this.goOn();
      else if (next === 12) await this.changePolicy();
      else if (next === 13) await this.changePerson();
      else if (next === 14) await this.stopOrLift();
      else if (next === 15) await this.revoke();
      else await this.changeDelegation();
    }
    for (const id of this.policies) await call('POST', `/policies/${id}/deactivate`, {});
  }

  /** The allow has limits, the rule behind it asks; sometimes one that denies reviews comes or goes. */
  async changePolicy() {
    this.version += 1;
    const kind = this.version === 1 ? 0 : this.version === 2 ? 1 : this.below(3);
    const common = {
      version: String(this.version),
      subjects: [`agent:bot ${this.number}`],
      actions: ['pay'],
      resources: ['*'],
    };
    const limits = [
      {
        max: this.one([3, 3.5, 10]),
        of: '/amount',
        per: this.one(['hour', 'day', 'week', 'month']),
        by: this.one(['agent', 'policy']),
      },
      { max: 1 + this.below(3), per: 'day', by: 'agent' },
    ].slice(this.below(2));
    const grant = {
      for: this.one(['PT1H', 'P1D', 'PT1S']),
      ...(this.below(2) === 0 && { uses: 1 + this.below(3) }),
      wider: this.below(2) === 0,
    };
    const escalate = { after: 'PT1S', subjects: [this.one([`role:late-${this.number}`, `agent:ben ${this.number}`])] };
    const approvers = [
      {
        subjects: [this.one([`role:team-${this.number}`, `agent:ann ${this.number}`])],
        approvals: 1 + Number(this.below(5) === 0),
        ...(this.below(2) === 0 && { escalate }),
      },
    ];
    if (this.below(4) === 0)
      approvers.push({ subjects: [`role:team-${this.number}`, `agent:ben ${this.number}`], approvals: 1 });
    const bodies = [
      { ...common, name: `alone ${this.number}`, effect: 'allow', priority: 1, limits },
      {
        ...common,
        name: `asked ${this.number}`,
        effect: 'require_approval',
        approval: {
          approvers,
          riskLevel: this.one(['low', 'high']),
          decideWithin: this.one(['P1D', 'P1D', 'PT2S']),
          ...(this.below(8) > 0 && { grant }),
        },
      },
      {
        ...common,
        name: `review ${this.number}`,
        effect: 'deny',
        subjects: [`agent:ann ${this.number}`],
        actions: ['decision:approve'],
        resources: [this.one(['decisions/high/*', '*'])],
      },
    ];
    const { body } = await call('POST', '/policies', bodies[kind]);
    if (body.id !== undefined) this.policies.push(body.id);
  }

  async ask() {
    const parameters = { amount: this.one([0.5, 3, 3, 7]) };
    const run = this.below(4) === 0 ? { run: this.one(['one', 'two']) } : {};
    const request = { action: 'pay', resourceType: 'bill', resourceId: this.one(RESOURCES), parameters, ...run };
    const after = (await call('GET', '/audit?limit=1&order=desc')).body.data[0].sequence;
    const from = new Date().toISOString();
    const { status, body } = await call('POST', `/agents/${this.ids['bot']}/execute`, request);
    const to = new Date().toISOString();
    if (status === 202)
      repeated.push({ after, from, to, id: body.id, request: { ...request, agentId: this.ids['bot'] } });
  }

  async review() {
    const { data } = (await call('GET', `/decisions?status=proposed&proposedBy=${this.ids['bot']}`)).body;
    if (data.length === 0) return;
    const { id, grant, context: _ } = this.one(/** @type {any[]} */ (data));
    const approverId = this.one(PEOPLE.map((name) => this.ids[name]));
    const received = (await call('GET', `/agents/${approverId}/delegations?side=received`)).body.data;
    const delegation = received.length > 0 && this.below(2) === 0 ? this.one(/** @type {any[]} */ (received)) : null;
    const place = delegation === null ? {} : { delegationId: delegation.id };
    if (this.below(4) === 0) {
      const instead = this.below(3) > 0 ? { instead: { parameters: { amount: this.one([0.5, 7]) } } } : {};
      await call('POST', `/decisions/${id}/reject`, { approverId, ...instead, ...place });
      return;
    }
    const resources = this.below(2) === 0 ? { resources: [this.one(['a/*', '*', 'a/1'])] } : {};
    const wider = grant?.wider ? { ...resources, ...(this.below(2) === 0 && { parameters: 'any' }) } : {};
    const grantInput = grant && this.below(6) > 0 ? { grant: { for: grant.for, ...wider } } : {};
    await call('POST', `/decisions/${id}/approve`, { approverId, ...grantInput, ...place });
  }

  async goOn() {
    const { data } = (await call('GET', `/executions?agentId=${this.ids['bot']}&outcome=approved`)).body;
    if (data.length > 0) await call('POST', `/executions/${this.one(/** @type {any[]} */ (data)).id}/resume`);
  }

  async changePerson() {
    const id = this.one(PEOPLE.map((name) => this.ids[name]));
    const change = this.below(3);
    if (change === 0)
      await call('PATCH', `/agents/${id}`, { roles: this.below(2) === 0 ? [] : [`team-${this.number}`] });
    else await call('POST', `/agents/${id}/${change === 1 ? 'suspend' : 'resume'}`, {});
  }

  /** Somebody lets another person review, for a day or for a moment, or ends that. */
  async changeDelegation() {
    const name = this.one(PEOPLE);
    const path = `/agents/${this.ids[name]}/delegations`;
    const { data } = (await call('GET', `${path}?status=active`)).body;
    if (data.length > 1 || (data.length > 0 && this.below(3) === 0)) {
      await call('POST', `${path}/${this.one(/** @type {any[]} */ (data)).id}/end`, undefined, this.keys[name]);
      return;
    }
    const until = new Date(Date.now() + this.one([300, 86_400_000])).toISOString();
    await call('POST', path, { to: this.ids[this.one(PEOPLE)], until }, this.keys[name]);
  }

  async stopOrLift() {
    const { body } = await call('POST', '/stops', { agentId: this.ids['bot'], reason: 'x' });
    await this.ask();
    await call('POST', `/stops/${body.id}/lift`, { reason: 'x' });
  }

  async revoke() {
    const { data } = (await call('GET', `/grants?agentId=${this.ids['bot']}&status=active`)).body;
    if (data.length > 0) await call('POST', `/grants/${this.one(/** @type {any[]} */ (data)).id}/revoke`, {});
  }
}

let next = 0;
const player = async () => {
  for (let number = next++; number < Number(histories); number = next++) await new History(number).play();
};
await Promise.all(Array.from({ length: AT_ONCE }, player));

const reference = new ReferenceHistory();
const made = new Map();
const exported = await (await fetch(`${API}/api/v1/provenance/export`, { headers: { 'X-API-Key': API_KEY } })).text();
const waiting = repeated.sort((one, other) => one['after'] - other['after']);
for (const line of exported.split('\n')) {
  const entry = line === '' ? {} : JSON.parse(line);
  if (entry.audit === undefined) continue;
  if (entry.action === 'execution.approval_requested') made.set(entry.subjectId, entry.sequence);
  while (waiting[0] !== undefined && waiting[0]['after'] < entry.sequence)
    expectRepeated(/** @type {any} */ (waiting.shift()), entry.sequence);
  reference.add(entry);
}
for (const left of waiting) expectRepeated(left, Infinity);

/**
 * An answer that left no entry: both ends of its time have to lead to it.
 * @param {any} answer
 * @param {number} before
 */
function expectRepeated({ after, from, to, id, request }, before) {
  const since = made.get(id) ?? before;
  // It was made by this request: its entry is checked.
  if (since > after) return;
  const answers = [from, to].map((time) => reference.answerTo(request, time));
  if (!answers.some((expected) => expected.id === id)) reference.differ('a repeated answer', { after, id, answers });
  reference.counts['asked again'] = (reference.counts['asked again'] ?? 0) + 1;
}

for (const [id, served] of reference.served) {
  const { body } = await call('GET', `/grants/${id}`);
  if (body.used !== served) reference.differ('the uses of a grant', { id, served, used: body.used });
}
const { counts } = reference;
const differences = [...failed, ...reference.differences];
process.stdout.write(JSON.stringify({ differences: differences.length, first: differences.slice(0, SHOWN), counts }));
