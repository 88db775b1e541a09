import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

/**
 * Measures an engine on a workload and prints what bench/policies/engine-figures.ts describes.
 * `open` receives the policies and returns a function that reports whether a request is allowed.
 */
export async function measure(open) {
  const [file, seconds, rounds, compared] = process.argv.slice(2);
  const { policies, requests } = JSON.parse(readFileSync(file, 'utf8'));
  const isAllowed = await open(policies);
  const allowed = [];
  for (const request of requests.slice(0, Number(compared))) allowed.push(await isAllowed(request));
  const checksPerSecond = [];
  for (let round = 0; round < Number(rounds); round += 1) {
    const start = performance.now();
    let checks = 0;
    while (performance.now() - start < Number(seconds) * 1000) {
      await isAllowed(requests[checks % requests.length]);
      checks += 1;
    }
    checksPerSecond.push((checks / (performance.now() - start)) * 1000);
  }
  console.log(JSON.stringify({ checksPerSecond, allowed }));
}
