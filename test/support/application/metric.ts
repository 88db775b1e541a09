import type { TestApp } from './create-test-app';
import { send } from './send';

/** The current value of a metric without labels. */
export async function metric(app: TestApp, name: string): Promise<number> {
  const value = valueOf((await send(app, 'GET', '/metrics')).text, name);
  if (value === undefined) throw new Error(`There is no metric ${name}.`);
  return value;
}

/** The value of a metric in a scraped text, with its labels as they are written; undefined if there is none. */
export function valueOf(scraped: string, metric: string): number | undefined {
  const line = scraped.split('\n').find((candidate) => candidate.startsWith(`${metric} `));
  return line === undefined ? undefined : Number(line.slice(metric.length + 1));
}
