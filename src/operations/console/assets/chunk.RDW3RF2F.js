import{l as e}from"./chunk.ZCFBWB4L.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
