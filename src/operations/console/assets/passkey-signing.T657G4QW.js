import{a,b,c,d}from"./chunk.SWJG44FV.js";import"./chunk.U6CY7UVM.js";import"./chunk.35GLESCP.js";export{a as approvalOf,d as passkeysOf,c as registerPasskey,b as signedBy};
