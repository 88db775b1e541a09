import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { CheckpointsModule } from '../checkpoints/checkpoints.module';
import { ErasedIds } from './erased-ids';
import { ErasureProgress } from './erasure-progress';
import { ERASURE } from './erasure.entity';
import { ErasuresController } from './erasures.controller';
import { ErasuresService } from './erasures.service';
import { RetainedContents } from './retained-contents';

/** Erases the contents of records. Follows the checkpoints, which detect at the start whether a backup was restored. */
@Module({
  imports: [LedgerModule.forFeature({ kinds: [ERASURE] }), CheckpointsModule],
  controllers: [ErasuresController],
  providers: [ErasuresService, ErasedIds, ErasureProgress, RetainedContents],
})
export class ErasuresModule {}
