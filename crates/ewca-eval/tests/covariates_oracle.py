"""The numbers that the tests of `src/covariates.rs` hold: run with scipy 1.17.1 and numpy."""

import math, itertools, numpy as np, scipy
from scipy.stats import f_oneway, spearmanr, rankdata
print(scipy.__version__)
def score(i): return math.sin(1.3*i)+0.4*(i%3)
S=[score(i) for i in range(24)]
C=[i%3 if i%7!=6 else None for i in range(24)]
N=[math.cos(.9*i)+.3*score(i) if i%5!=4 else None for i in range(24)]
def eta(s,c):
    g=[[a for a,b in zip(s,c) if b==k] for k in sorted(set(c))]
    F=f_oneway(*g).statistic; n=sum(map(len,g)); k=len(g); return F*(k-1)/(F*(k-1)+n-k)
known=[(a,b) for a,b in zip(S,C) if b is not None]
print('ETA',repr(eta(*zip(*known))))
known=[(a,b) for a,b in zip(S,N) if b is not None]
print('RHO',repr(spearmanr(*zip(*known)).statistic))
# all 5040 permutations of 7 samples, 2 components, classes and numbers
A=[0.1,0.5,-0.3,2.0,1.6,2.4,1.1]; B=[1.0,-2.0,0.5,0.25,-1.5,3.0,2.0]
c=[0,0,0,1,1,1,1]; v=[3.0,1.0,4.0,1.5,9.0,2.6,5.0]
rows=[]
for p in itertools.permutations(range(7)):
    cp=[c[i] for i in p]; vp=[v[i] for i in p]
    def e(s):
        s=np.array(s); m=s.mean(); return sum(len(g)*(g.mean()-m)**2 for g in (s[np.array(cp)==k] for k in (0,1)))/((s-m)**2).sum()
    r=lambda s: abs(np.corrcoef(rankdata(s),rankdata(vp))[0,1])
    rows.append([e(A),e(B),r(A),r(B)])
R=np.array(rows); obs=R[0]
print('effects',obs.tolist(), eta(A,c), spearmanr(A,v).statistic)
print('p',[(R[:,t]>=obs[t]-1e-9).mean() for t in range(4)])
Z=(R-R.mean(0))/R.std(0); mx=Z.max(1)
print('corrected',[(mx>=Z[0,t]-1e-9).mean() for t in range(4)])
