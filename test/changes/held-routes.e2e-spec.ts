import type { OpenAPIObject } from '@nestjs/swagger';
import { RequestMethod } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { documentedRoutes } from '../../src/http/openapi/documented-route';
import { AnswerCheck } from '../openapi/answer-check';
import { type DocumentedOperation, operationsOf } from '../support/requests/api-document';
import { send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { type HeldStage, startHeld } from './held-requests';
import type { TestApp } from '../support/application/create-test-app';

const READING: readonly RequestMethod[] = [RequestMethod.GET, RequestMethod.HEAD];

/** Routes that write, or look as if they did, and take effect at once: each with the reason. */
const EXEMPT: Readonly<Record<string, string>> = {
  accessEvaluation_evaluate: 'reads',
  access_review: 'is a review itself',
  agents_suspend: 'stops somebody',
  apiKeys_revoke: 'stops somebody',
  decisions_approve: 'is an approval itself',
  decisions_approveTogether: 'is an approval itself',
  decisions_cancel: 'ends a proposal',
  decisions_propose: 'is a proposal itself',
  decisions_reject: 'ends a proposal',
  delegations_create: 'only for oneself',
  delegations_end: 'ends a right',
  grants_revoke: 'stops somebody',
  passkeys_options: 'writes nothing',
  passkeys_register: 'only for oneself',
  policySets_plan: 'reads',
  provenance_verify: 'reads',
  stops_create: 'stops somebody',
  webhooks_resume: 'changes no rule',
  webhooks_test: 'changes no rule',
};
/** Operations that agents perform, which change nothing that they may do. */
const OF_AGENTS =
  /^(?:approvals|claims|entities|evaluate|execute|executions|forwardAuth|runs?|slack|authzen|fallback)\w*_/;
/** Operations of the directory; the creation of its key is held back. */
const OF_DIRECTORY = /^scim(?:Users|Groups)_/;

describe('Routes that change the rules', () => {
  const stage: HeldStage = stageOf(() => startHeld());
  const writing = (): [string, boolean][] => {
    const routes = documentedRoutes(stage.app.application.get(DiscoveryService, { strict: false }));
    return [...routes].flatMap(([id, { method, traits }]) =>
      READING.includes(method) ? [] : [[id, traits.secondPerson !== undefined]],
    );
  };

  it('are all held back, or named here with the reason why not', () => {
    const unnamed = writing().filter(
      ([id, isHeld]) => !isHeld && !(id in EXEMPT) && !OF_AGENTS.test(id) && !OF_DIRECTORY.test(id),
    );
    expect(unnamed).toEqual([]);
    const both = writing().filter(([id, isHeld]) => isHeld && (id in EXEMPT || OF_AGENTS.test(id)));
    expect(both).toEqual([]);
  });

  it('are each tried here', () => {
    const held = writing().flatMap(([id, isHeld]) => (isHeld ? id : []));
    // Removing a passkey needs a device: it is tried next to those.
    expect([...stage.requests.keys(), 'passkeys_remove'].sort()).toEqual(held.sort());
  });

  it('are held back from the operator, and change nothing', async () => {
    const { app, requests, ada } = stage;
    const document = (await send(app, 'GET', '/docs/openapi.json')).body as OpenAPIObject;
    const check = new AnswerCheck(document);
    const operation = (id: string): DocumentedOperation => {
      const documented = operationsOf(document).find((other) => other.id === id);
      if (documented === undefined) throw new Error(`The document has no ${id}.`);
      return documented;
    };
    for (const [id, [method, path, sent]] of requests) {
      const head = async (): Promise<unknown> =>
        (await send(app, 'GET', '/api/v1/provenance?limit=1&order=desc')).body.total;
      const before = Number(await head());
      const answer = await send(app, method, path, sent);
      expect([id, answer.status, answer.body.type]).toEqual([id, 202, 'change']);
      expect([id, answer.body.requiredApprovals, answer.body.proposedBy]).toEqual([id, 2, null]);
      expect([id, Number(await head())]).toEqual([id, before + 1]);
      expect(check.faults(operation(id), answer)).toEqual([]);
    }
    const { body: decision } = await send(app, 'POST', '/api/v1/agents', {
      body: { name: 'a third', capabilities: [] },
    });
    const change = `/api/v1/decisions/${decision.id}/change`;
    const changeResponse = await send(app, 'GET', change, { key: ada.key });
    await send(app, 'POST', `/api/v1/decisions/${decision.id}/cancel`, { body: {} });
    const settled = await send(app, 'GET', change, { key: ada.key });
    expect([changeResponse.status, settled.status]).toEqual([200, 410]);
    for (const answer of [changeResponse, settled])
      expect(check.faults(operation('decisions_change'), answer)).toEqual([]);
  });

  it('are made by the operator once two people have approved', async () => {
    const { app, requests, ada, ben } = stage;
    for (const [id, [method, path, sent]] of requests) {
      // The policies in force are others by then.
      if (['policies_activate', 'policies_deactivate', 'policySets_apply', 'webhooks_remove'].includes(id)) continue;
      const { body } = await send(app, method, path, sent);
      for (const { key } of [ada, ben]) {
        const approved = await send(app, 'POST', `/api/v1/decisions/${body.id}/approve`, { key, body: {} });
        expect([id, approved.status]).toEqual([id, 200]);
      }
      const made = await send(app, method, path, { ...sent, headers: { Change: body.id } });
      expect([id, made.status < 300 && made.status !== 202]).toEqual([id, true]);
      const decision = await send(app, 'GET', `/api/v1/decisions/${body.id}`);
      expect([id, decision.body.change.madeAt]).toEqual([id, expect.any(String)]);
    }
  });

  it('never show an address, a secret, or the URL of a chat', async () => {
    const { app, ada } = stage;
    const url = 'https://hooks.slack.com/services/T0/B0/verysecretpath';
    const body = { url, actions: ['decision.proposed'], format: 'slack' };
    const { body: decision } = await send(app, 'POST', '/api/v1/webhooks', { body });
    const response = await send(app, 'GET', `/api/v1/decisions/${decision.id}/change`, { key: ada.key });
    expect(response).toMatchObject({ status: 200, body: { body: { url: 'https://hooks.slack.com' } } });
    const exported = await send(app, 'GET', '/api/v1/provenance/export');
    expect(exported.text).not.toContain('verysecretpath');
    expect(exported.text).not.toContain('eve@example.com');
  });

  it('leave what makes things safer to one person', async () => {
    const { app } = stage;
    const { secret: _secret, ...key } = await issueKeyAtOnce(app);
    expect((await send(app, 'POST', `/api/v1/api-keys/${key.id}/revoke`)).status).toBe(200);
    expect((await send(app, 'POST', '/api/v1/stops', { body: { reason: 'Now.' } })).status).toBe(201);
    expect((await send(app, 'POST', '/api/v1/agents/bot/suspend')).status).toBe(200);
    expect((await send(app, 'PATCH', '/api/v1/agents/bot', { body: { description: 'Another.' } })).status).toBe(200);
  });
});

/** A key that an emergency needs. */
async function issueKeyAtOnce(app: TestApp): Promise<{ id: string; secret: string }> {
  const headers = { 'Break-Glass': encodeURIComponent('A test needs a key at once') };
  const answer = await send(app, 'POST', '/api/v1/api-keys', { body: { name: 'k', scopes: ['read'] }, headers });
  expect(answer.status).toBe(201);
  return answer.body as { id: string; secret: string };
}
