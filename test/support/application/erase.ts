import { setTimeout as sleep } from 'node:timers/promises';
import type { TestApp } from './create-test-app';
import { send } from './send';

/** Erases records, and waits until their contents are gone, which they are some time after the answer. */
export async function erase(app: Pick<TestApp, 'url'>, ...subjects: readonly object[]): Promise<void> {
  const { status, body } = await send(app, 'POST', '/api/v1/erasures', { body: { subjects, reason: 'Request 7' } });
  expect(status).toBe(201);
  const path = `/api/v1/erasures/${body.id as string}`;
  while ((await send(app, 'GET', path)).body.completedAt === null) await sleep(20);
}
