import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { stageOf } from '../support/application/stage';

export const AGENTS = '/api/v1/agents';

let agents = 0;

export function newName(): string {
  agents += 1;
  return `agent ${agents}`;
}

export function agentStage(): { readonly app: TestApp } {
  return stageOf(async () => ({ app: await createTestApp() }));
}
