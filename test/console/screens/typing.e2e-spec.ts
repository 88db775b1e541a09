import { createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, signIn } from '../browser';
import { companyStage } from '../company';

const CHANGES = 'is an integer beyond 2^53−1, which would change silently: send it as a string';

describeInBrowser('What people type in the console', () => {
  const stage = companyStage();

  it('is refused where a number of a policy would become another one, and says which', async () => {
    const { program } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/policies`);
    await signIn(page, program.key);
    await page.getByRole('button', { name: 'New policy' }).click();
    const draft = page.getByLabel('The policy', { exact: true });
    const text = await draft.inputValue();
    await draft.fill(text.replace('"value": 100', '"value": 9007199254740993'));
    const plan = page.getByRole('button', { name: 'Show what it would change' });
    await plan.click();
    const refusal = page.getByRole('alert').filter({ hasText: `conditions[0].value ${CHANGES}` });
    await refusal.waitFor();
    expect(await page.getByRole('button', { name: 'Activate it' }).count()).toBe(0);
    await draft.fill(text.replace('"value": 100', '"value": 9007199254740991'));
    await plan.click();
    await page.getByRole('button', { name: 'Activate it' }).waitFor();
    expect(await refusal.count()).toBe(0);
  });

  it('is asked about on behalf of somebody, and in a run', async () => {
    const { program, bot } = stage.company;
    await createPolicy(program, {
      ...{ name: 'after-a-payment', actions: ['read-invoice'], onBehalfOf: ['role:vip'] },
      conditions: [{ earlier: 'pay-*', op: 'exists', value: true }],
    });
    await createPolicy(program, { name: 'orders-only', actions: ['read-invoice'], resourceTypes: ['order'] });
    const paid = { action: 'pay-invoice', resourceType: 'supplier', resourceId: '7', run: 'talk 1' };
    const { status } = await send(program, 'POST', '/api/v1/agents/payment-bot/execute', {
      key: bot.key,
      body: { ...paid, parameters: { amount: 1 } },
    });
    expect(status).toBe(200);
    const page = await stage.browser.open(`${program.url}/console/explain`, { expected: [/status of 400/] });
    await signIn(page, program.key);
    await page.getByLabel('Agent').fill('payment-bot');
    await page.getByLabel('Action').fill('read-invoice');
    await page.getByLabel('Resource type').fill('invoice');
    await page.getByLabel('Resource', { exact: true }).fill('2026-0417');
    const ask = page.getByRole('button', { name: 'Explain' });
    await page.getByLabel('Their roles').fill('staff\nvip');
    await ask.click();
    await page.getByRole('alert').filter({ hasText: 'onBehalfOf.subject' }).waitFor();
    await page.getByLabel('On behalf of').fill('user:4711');
    await ask.click();
    await page.getByText('No policy in force allows it').waitFor();
    await page.getByText('only its conditions do not match').waitFor();
    await page.getByText('only its resource types do not match').waitFor();
    await page.getByLabel('Run').fill('talk 1');
    await ask.click();
    await page.getByText('It would be allowed.').waitFor();
  });

  it('is refused where an argument would become another one, and says which', async () => {
    const { program, sara } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/explain`);
    await signIn(page, sara.key);
    await page.getByLabel('Agent').fill('payment-bot');
    await page.getByLabel('Action').fill('pay-invoice');
    await page.getByLabel('Resource type').fill('supplier');
    await page.getByLabel('Resource', { exact: true }).fill('Nordwind GmbH');
    const answer = page.getByRole('region', { name: 'The answer' });
    const refusals = [
      ['{"account": {"number": -9007199254740993}}', `account.number ${CHANGES}`],
      ['{"amount": 1e309}', 'amount is too large for a number: send it as a string'],
      ['[80]', 'The arguments must be a JSON object.'],
      ['{"amount": }', 'This is not JSON'],
    ] as const;
    for (const [typed, words] of refusals) {
      await page.getByLabel('Arguments').fill(typed);
      await page.getByRole('button', { name: 'Explain' }).click();
      await page.getByRole('alert').filter({ hasText: words }).waitFor();
      expect(await answer.count()).toBe(0);
    }
    await page.getByLabel('Arguments').fill('{"amount": 9007199254740991}');
    await page.getByRole('button', { name: 'Explain' }).click();
    await answer.getByText('It would wait for approval.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});
