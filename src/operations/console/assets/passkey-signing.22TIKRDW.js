import{a,b,c,d}from"./chunk.TFEXFL6F.js";import"./chunk.KTCLCG7X.js";import"./chunk.35GLESCP.js";export{a as approvalOf,d as passkeysOf,c as registerPasskey,b as signedBy};
