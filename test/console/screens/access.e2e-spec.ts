import { createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, signIn } from '../browser';
import { companyStage } from '../company';

describeInBrowser("The console's access", () => {
  const stage = companyStage();

  it('shows what an agent may do and what has changed, and lets another person review it', async () => {
    const { program, bot, sara } = stage.company;
    const conditions = [{ parameter: '/pages', op: 'lte', value: 5 }];
    await createPolicy(program, { name: 'reads', actions: ['read-invoice'], resources: ['paid/*'], conditions });
    const page = await stage.browser.open(`${program.url}/console/access`);
    await signIn(page, sara.key);
    await page
      .getByRole('listitem')
      .getByRole('link', { name: /payment-bot.*never reviewed/s })
      .click();
    await page.getByRole('heading', { level: 1, name: 'Access of payment-bot' }).waitFor();
    const allowed = page.getByRole('region', { name: 'By itself' }).getByRole('listitem').filter({ hasText: 'paid/*' });
    await allowed.first().waitFor();
    expect(await allowed.first().innerText()).toMatch(/read-invoice[^]*reads 1\.0[^]*\/pages/);
    await page.getByRole('region', { name: 'Once somebody approves it' }).getByText('pay-invoice').first().waitFor();
    await page.getByRole('region', { name: 'Review' }).getByText('Nobody has reviewed this.').waitFor();
    await page.getByRole('button', { name: 'I have seen what it may do' }).click();
    await page
      .getByRole('region', { name: 'Review' })
      .getByText(/Last reviewed by sara/)
      .waitFor();
    const { body } = await send(program, 'GET', `/api/v1/agents/${bot.id}/access`, { key: program.key });
    expect(body.reviewedBy).toBe(sara.id);
    await page.getByLabel('Changes since').fill('2020-01-01');
    await page.getByRole('region', { name: 'What has come and gone' }).getByText('read-invoice').first().waitFor();
    expect(stage.browser.takeFaults()).toEqual([]);
  });
});
