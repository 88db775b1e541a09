import type { PolicyResponse } from '../../src/governance/policies/dto/policy.dto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createPolicy } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';

export const POLICIES = '/api/v1/policies';
export const RULES = { effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };

let policies = 0;

export function newName(): string {
  policies += 1;
  return `policy of this test ${policies}`;
}

interface PolicyStage {
  readonly stage: { readonly app: TestApp };
  create(this: void, body: Record<string, unknown>): Promise<Answer>;
  read(this: void, id: string): Promise<PolicyResponse>;
  /** Creates a version that matches no agent. */
  version(this: void, name: string, label: string): Promise<PolicyResponse>;
}

/** An application for the tests of a file, and what they do with its policies. */
export function policyStage(): PolicyStage {
  const stage = stageOf(async () => ({ app: await createTestApp() }));
  return {
    stage,
    create: (body) => send(stage.app, 'POST', POLICIES, { body }),
    read: async (id) => (await send(stage.app, 'GET', `${POLICIES}/${id}`)).body,
    version: (name, label) => createPolicy(stage.app, { name, version: label, subjects: ['nobody'] }),
  };
}
