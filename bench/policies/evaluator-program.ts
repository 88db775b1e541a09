import { readFileSync } from 'node:fs';
import { compilePolicy } from '../../src/governance/policies/evaluation/compiled-policy';
import { PolicyEvaluator } from '../../src/governance/policies/evaluation/policy-evaluator';
import type { EngineFigures } from './engine-figures';
import type { Workload } from './workload';

/** Checks between two readings of the clock. */
const CHUNK = 500;

const [file = '', secondsText, roundsText, comparedText] = process.argv.slice(2);
const { policies, requests } = JSON.parse(readFileSync(file, 'utf8')) as Workload;
const evaluator = new PolicyEvaluator();
evaluator.put(policies.map(compilePolicy), []);

function checksPerSecond(seconds: number): number {
  const start = performance.now();
  let checks = 0;
  let elapsedMs = 0;
  while (elapsedMs < seconds * 1000) {
    for (let chunk = 0; chunk < CHUNK; chunk += 1) {
      const request = requests[checks % requests.length];
      if (request !== undefined) evaluator.evaluate(request);
      checks += 1;
    }
    elapsedMs = performance.now() - start;
  }
  return (checks / elapsedMs) * 1000;
}

const seconds = Number(secondsText);
// The first round warms up the JIT compiler, and is not counted.
checksPerSecond(seconds);
const figures: EngineFigures = {
  checksPerSecond: Array.from({ length: Number(roundsText) }, () => checksPerSecond(seconds)),
  allowed: requests.slice(0, Number(comparedText)).map((request) => evaluator.evaluate(request).effect === 'allow'),
};
console.log(JSON.stringify(figures));
